# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/dispatcher"
require "penstock/producer/settings"
require "support/fake_client"

class ProducerDispatcherTest < Penstock::TestCase
  Deadline = Penstock::Deadline

  def setup
    @client = FakeClient.new
    @events = []
    @settings = Penstock::Producer::Settings.new
    @settings.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    %w[error.occurred producer.queue_full].each { |name| @settings.monitor.subscribe(name) { |event| @events << event } }
  end

  def sending(**options)
    options.each { |name, value| @settings.public_send(:"#{name}=", value) }
    Penstock::Producer::Dispatcher.new(@client, @settings)
  end

  def record(payload = "x")
    {topic: "orders", payload: payload}
  end

  def errors
    @events.select { |event| event.id == "error.occurred" }
  end

  test "try never blocks: it returns nil while the queue is full and raises the client's refusal" do
    @client.room = 0
    assert_nil sending.try(record)
    assert_empty @client.waits
    @client.room = 1
    assert_equal 0, sending.try(record).offset
    @client.refusal = Penstock::KafkaError.build(number: -1, name: "_FAIL")
    assert_raises(Penstock::KafkaError) { sending.try(record) }
  end

  test "[Queue full wait] a full queue is waited for and reported, and the message is sent when there is room" do
    @client.room = 0
    @client.room_after_waits = 3
    handle = sending.one(record, "message.produce_async")

    assert_equal 0, handle.offset
    assert_equal 3, @client.waits.size
    assert(@client.waits.all? { |wait_ms| wait_ms <= 100 })
    assert_equal ["message.produce_async"], errors.map { |event| event[:type] }
    assert_instance_of Penstock::QueueFullError, errors.first[:error]
    assert_equal [1, 2, 3], @events.filter_map { |event| event[:attempt] }
  end

  test "a full queue is reported as an error only with the setting for it" do
    @client.room = 0
    @client.room_after_waits = 1
    sending(instrument_on_wait_queue_full: false).one(record, "message.produce_async")

    assert_empty errors
  end

  test "[Queue full timeout] a queue that stays full raises after the timeout, and nothing is sent" do
    @client.room = 0
    error = assert_raises(Penstock::ProduceError) do
      sending(wait_timeout_on_queue_full: 0).one(record, "message.produce_async")
    end

    assert_instance_of Penstock::QueueFullError, error.cause
    assert_equal [:queue_full, "orders"], [error.code, error.topic]
    assert_empty @client.sent
  end

  test "[Queue full no wait] a full queue raises at once when waiting is disabled" do
    @client.room = 0
    assert_raises(Penstock::ProduceError) { sending(wait_on_queue_full: false).one(record, "message.produce_sync") }

    assert_empty @client.waits
    assert_equal ["message.produce_sync"], errors.map { |event| event[:type] }
  end

  test "a refusal by the client raises a ProduceError with its cause and is reported once" do
    @client.refusal = Penstock::KafkaError.new("too large", code: :msg_size_too_large, number: 10)
    error = assert_raises(Penstock::ProduceError) { sending.one(record, "message.produce_async") }

    assert_same @client.refusal, error.cause
    assert_equal 1, errors.size
    assert_equal record, errors.first[:message]
  end

  test "errors that don't come from the client are raised unchanged" do
    @client.refusal = Penstock::ForkedHandleError.new("a child")

    assert_raises(Penstock::ForkedHandleError) { sending.one(record, "message.produce_async") }
    assert_empty errors
  end

  test "[many partial queue full] dispatched is the accepted prefix" do
    @client.room = 2
    messages = Array.new(5) { |index| record(index.to_s) }
    error = assert_raises(Penstock::ProduceManyError) do
      sending(wait_on_queue_full: false).many(messages, "messages.produce_many_async")
    end

    assert_equal [0, 1], error.dispatched.map(&:offset)
    assert_equal %w[0 1], @client.sent
    assert_equal error.dispatched, errors.last[:dispatched]
    assert_equal messages, errors.last[:messages]
  end

  test "events report no message of a transaction as dispatched" do
    @settings.kafka = {"bootstrap.servers": "127.0.0.1:1", "transactional.id": "t"}
    @client.room = 1
    assert_raises(Penstock::ProduceManyError) do
      sending(wait_on_queue_full: false).many([record, record], "messages.produce_many_async")
    end

    assert_equal [], errors.last[:dispatched]
  end

  test "sending many resumes with the first message that wasn't accepted when there is room" do
    @client.room = 2
    @client.room_after_waits = 1
    messages = Array.new(5) { |index| record(index.to_s) }

    assert_equal 5, sending.many(messages, "messages.produce_many_async").size
    assert_equal %w[0 1 2 3 4], @client.sent
  end

  test "a failed delivery is a ProduceError whose cause is the KafkaError" do
    handle = sending.one(record, "message.produce_sync")
    handle.number = 3
    error = assert_raises(Penstock::ProduceError) do
      sending.settle(handle, record, "message.produce_sync", Deadline.never)
    end

    assert_equal :unknown_topic_or_part, error.code
    assert_equal 3, error.cause.number
  end

  test "a wait that times out reports the outcome as unknown, with the client's last error" do
    @client.last_error = "all brokers down"
    handle = sending.one(record, "message.produce_sync")
    handle.done = false
    error = assert_raises(Penstock::ProduceError) do
      sending.settle(handle, record, "message.produce_sync", Deadline.in(0))
    end

    assert_instance_of Penstock::WaitTimeoutError, error.cause
    assert_includes error.message, "unknown"
    assert_includes error.message, "all brokers down"
    assert_nil error.code
  end

  test "all messages of a batch are waited for before the first failure is raised" do
    handles = sending.many(Array.new(3) { record }, "messages.produce_many_sync")
    handles.each { |handle| handle.done = false }
    handles[1].number = 3
    @client.arriving = 1
    error = assert_raises(Penstock::ProduceManyError) do
      sending.settle_all(handles, Array.new(3) { record }, "messages.produce_many_sync", Deadline.never)
    end

    assert(handles.all?(&:done?))
    assert_equal handles, error.dispatched
    assert_equal ["orders/0/0", nil, "orders/0/2"], handles.map(&:uid)
    assert_equal :unknown_topic_or_part, error.code
  end

  test "messages without a report are named when the time is up, also if all others were delivered" do
    handles = sending.many(Array.new(3) { record }, "messages.produce_many_sync")
    handles[2].done = false
    error = assert_raises(Penstock::ProduceManyError) do
      sending.settle_all(handles, Array.new(3) { record }, "messages.produce_many_sync", Deadline.in(0))
    end

    assert_instance_of Penstock::WaitTimeoutError, error.cause
    assert_equal ["orders/0/0", "orders/0/1", nil], handles.map(&:uid)
  end

  test "a report that comes when the time is up counts: nothing is raised for its message" do
    handles = sending.many(Array.new(2) { record }, "messages.produce_many_sync")
    handles.first.done = false
    @client.arriving = 2 # the first wait ends without it
    sending.settle_all(handles, Array.new(2) { record }, "messages.produce_many_sync", Deadline.in(0))

    assert_equal "orders/0/0", handles.first.uid
  end
end
