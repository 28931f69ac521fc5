# frozen_string_literal: true

require "test_helper"
require "penstock/producer"

# A producer that doesn't deliver: everything but the client.
class ProducerTest < Penstock::TestCase
  def producer
    @producer ||= Penstock::Producer.new do |config|
      config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
      config.deliver = false
      yield config if block_given?
    end
  end

  def record(payload = "x", **parts)
    {topic: "orders", payload: payload, **parts}
  end

  def events(*names)
    [].tap { |seen| names.each { |name| producer.monitor.subscribe(name) { |event| seen << event } } }
  end

  test "[Double setup] a second setup raises" do
    assert_raises(Penstock::ConfigurationError) { producer.setup { |config| config.kafka = {} } }
    assert_predicate producer.status, :configured?
  end

  test "a producer can be set up later, and not used before" do
    late = Penstock::Producer.new
    assert_predicate late.status, :initial?
    [-> { late.produce_sync(record) }, -> { late.produce_async(record) }, -> { late.buffer(record) },
      -> { late.tombstone_sync(record) }, -> { late.flush_sync }].each do |use|
      assert_raises(Penstock::ConfigurationError) { use.call }
    end
    late.close
  end

  test "a setup that raises can be repeated" do
    late = Penstock::Producer.new
    assert_raises(Penstock::ConfigurationError) { late.setup { |config| config.id = 1 } }

    late.setup { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }
    assert_predicate late.status, :configured?
  end

  test "the status goes from configured to connected to closed" do
    assert_predicate producer.status, :configured?
    producer.produce_sync(record)
    assert_predicate producer.status, :connected?
    producer.close
    assert_predicate producer, :closed?
  end

  test "a closed producer refuses every call" do
    producer.close
    [-> { producer.produce_sync(record) }, -> { producer.produce_async(record) }, -> { producer.buffer(record) },
      -> { producer.produce_many_sync([record]) }, -> { producer.flush_async }, -> { producer.partition_count("a") },
      -> { producer.purge }].each { |use| assert_raises(Penstock::ProducerClosedError) { use.call } }
    assert_equal 0, producer.queue_size
  end

  test "a producer with deliver = false counts offsets per partition and returns the label" do
    reports = [record, record(partition: 3), record(label: :mine)].map { |each| producer.produce_sync(each) }

    assert_equal [[0, 0], [3, 0], [0, 1]], reports.map { |report| [report.partition, report.offset] }
    assert_equal :mine, reports.last.label
    assert_equal true, producer.produce_async(record(handle: false))
  end

  test "[many_sync invalid one] one invalid message prevents the whole batch" do
    seen = events("messages.produced_sync")
    assert_raises(Penstock::MessageInvalidError) { producer.produce_many_sync([record, message(key: "")]) }

    assert_equal 0, producer.produce_sync(record).offset
    assert_empty seen
  end

  test "[many_sync return type] produce_many_sync returns resolved handles in the order of the messages" do
    handles = producer.produce_many_sync([record("a"), record("b")])

    assert_equal [0, 1], handles.map(&:offset)
    assert(handles.all?(&:done?))
    assert_equal [0, 1], handles.map { |handle| handle.wait.offset }
  end

  test "the caller's messages are never changed" do
    given = [record(topic: :orders, timestamp: Time.at(1)).freeze, record(partition_key: "k").freeze].freeze

    producer.produce_sync(given.first)
    producer.produce_async(given.last)
    producer.produce_many_sync(given)
    assert_equal :orders, given.first[:topic]
  end

  test "middleware runs once for each message, also for buffered ones" do
    seen = []
    producer.middleware.append(->(given) { given.merge(payload: given[:payload] + "!").tap { |made| seen << made } })
    producer.produce_sync(record("a"))
    producer.produce_many_async([record("b")])
    producer.buffer(record("c"))
    producer.flush_sync

    assert_equal %w[a! b! c!], seen.map { |made| made[:payload] }
  end

  test "[Buffer/flush] the buffer grows, and a flush empties it" do
    seen = events("message.buffered", "messages.buffered", "buffer.flushed_sync", "buffer.flushed_async")
    assert_equal [record("a")], producer.buffer(record("a"))
    assert_equal [record("b"), record("c")], producer.buffer_many([record("b"), record("c")])
    assert_equal 3, producer.messages.size

    assert_equal [0, 1, 2], producer.flush_sync.map(&:offset)
    assert_empty producer.messages
    producer.buffer(record("d"))
    assert_equal [3], producer.flush_async.map(&:offset)
    assert_equal %w[message.buffered messages.buffered buffer.flushed_sync message.buffered buffer.flushed_async],
      seen.map(&:id)
  end

  test "a flush of an empty buffer opens no connection" do
    assert_equal [[], []], [producer.flush_sync, producer.flush_async]
    assert_predicate producer.status, :configured?
  end

  test "[Flush failure] unsent messages return to the buffer in order, before newer ones" do
    given = [record("a"), record("b", key: ""), record("c")]
    producer.buffer_many(given)
    assert_raises(Penstock::MessageInvalidError) { producer.flush_async }
    producer.buffer(record("d"))

    assert_equal %w[a b c d], producer.messages.map { |each| each[:payload] }
  end

  test "middleware doesn't see a message again after a failed flush" do
    seen = []
    producer.middleware.append(->(given) { given.tap { seen << given[:payload] } })
    producer.buffer_many([record("a"), record("b", key: "")])
    2.times { assert_raises(Penstock::MessageInvalidError) { producer.flush_async } }

    assert_equal %w[a b], seen
  end

  test "close sends the buffer" do
    seen = events("buffer.flushed_async", "producer.closing", "producer.closed")
    producer.buffer(record)
    producer.close

    assert_equal %w[producer.closing buffer.flushed_async producer.closed], seen.map(&:id)
    assert_operator seen.last[:time], :>=, 0
  end

  test "closing an unused producer opens no client; closing again does nothing" do
    seen = events("producer.connected", "producer.closed")
    3.times { producer.close }

    assert_equal %w[producer.closed], seen.map(&:id)
  end

  test "purge discards the buffer" do
    seen = events("buffer.purged")
    producer.buffer(record)
    producer.purge

    assert_empty producer.messages
    assert_equal [[record]], seen.map { |event| event[:messages] }
  end

  test "each produce call emits its event once, with its message" do
    seen = events("message.produced_sync", "message.produced_async", "messages.produced_sync",
      "messages.produced_async", "producer.connected")
    producer.produce_sync(record)
    producer.produce_async(record)
    producer.produce_many_sync([record])
    producer.produce_many_async([record])

    assert_equal %w[producer.connected message.produced_sync message.produced_async messages.produced_sync
      messages.produced_async], seen.map(&:id)
    assert_equal [producer.id], seen.map { |event| event[:producer_id] }.uniq
    assert_equal [record, record], seen[1, 2].map { |event| event[:message] }
    assert_equal [[record]] * 2, seen.last(2).map { |event| event[:messages] }
  end

  test "inspect never waits and shows no secret" do
    shown = Penstock::Producer.new do |config|
      config.kafka = {"bootstrap.servers": "127.0.0.1:1", "sasl.password": "canary"}
      config.id = "mine"
    end

    assert_equal "#<Penstock::Producer mine configured buffer_size=0>", shown.inspect
    assert_equal "#<Penstock::Producer not set up initial buffer_size=0>", Penstock::Producer.new.inspect
  end

  test "idempotence and transactions are read from the properties" do
    idempotent = lambda do |**kafka|
      Penstock::Producer.new { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1", **kafka} }.idempotent?
    end
    assert_predicate producer, :idempotent?
    refute idempotent.call("enable.idempotence": false)
    assert idempotent.call("enable.idempotence": true)
    assert_predicate Penstock::Producer.new { |config|
      config.kafka = {"bootstrap.servers": "127.0.0.1:1", "transactional.id": "t"}
    }, :transactional?
  end

  test "tombstones are sent one at a time and in batches" do
    tombstone = {topic: "orders", key: "k", partition: 1}

    assert_equal 0, producer.tombstone_sync(tombstone).offset
    assert_equal 1, producer.tombstone_async(tombstone).offset
    assert_equal [2], producer.tombstone_many_sync([tombstone]).map(&:offset)
    assert_equal [3], producer.tombstone_many_async([tombstone]).map(&:offset)
  end

  test "handle: false applies to one message and to many" do
    assert_equal true, producer.produce_async(record(handle: false))
    assert_equal [true, true], producer.produce_many_async([record, record], handle: false)
  end

  test "a message made ready on one thread is dispatched on another, without middleware or checks" do
    runs = 0
    producer.middleware.append(->(message) { (runs += 1) && message.merge(key: "k") })
    ready = producer.ready({topic: :dead, payload: "p", label: 1, handle: false, headers: {"a" => "b"}})

    handle = Thread.new { producer.dispatch(ready) }.value
    assert_equal ["dead", true, 1], [handle.topic, handle.done?, runs]
    assert_predicate handle.create_result, :delivered?
  end

  test "ready refuses an invalid message" do
    assert_raises(Penstock::MessageInvalidError) { producer.ready({topic: "dead", payload: 5}) }
  end

  test "dispatch raises at once when the producer isn't connected or is closed" do
    assert_raises(Penstock::ProducerClosedError) { producer.dispatch({topic: "dead", payload: "p"}) }
    ready = producer.ready({topic: "dead", payload: "p"})
    producer.close
    assert_raises(Penstock::ProducerClosedError) { producer.dispatch(ready) }
  end
end
