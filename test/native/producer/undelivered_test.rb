# frozen_string_literal: true

require "test_helper"
require "stringio"
require "support/api_producing"

# Messages that a close could not deliver.
class ProducerUndeliveredTest < Penstock::TestCase
  include Penstock::TestSupport::ApiProducing

  test "[Close, Kafka down] undelivered messages are counted, emitted and passed to the callback, and can be produced again" do
    offered = nil
    sender = api { |config| config.undelivered = ->(messages) { offered = messages } }
    seen = events_of(sender, "producer.undelivered")
    sender.produce_async(thing("a", key: "k", partition: 1, timestamp: 1_700_000_000_000,
      headers: {"one" => "1", "many" => ["2", nil]}))
    sender.produce_async(thing(nil, key: "gone", handle: false))
    sender.buffer(thing("never looked at", label: 7))
    sender.close(timeout_ms: 200)

    event = seen.pop
    assert_equal [3, 3, 0], [event[:count], event[:failed], event[:unknown]]
    assert_equal offered, event[:messages]
    assert_equal ["a", "k", 1, 1_700_000_000_000, {"one" => "1", "many" => ["2", nil]}],
      offered.first.values_at(:payload, :key, :partition, :timestamp, :headers)
    assert_equal [[nil, "gone"], ["never looked at", nil]], offered.drop(1).map { |message| message.values_at(:payload, :key) }
    assert_equal [:failed], offered.map { |message| message[:outcome] }.uniq
    again = offered.map { |message| message.except(:error, :outcome) }
    assert_equal [0], connected_api.produce_many_sync(again).map(&:number).uniq
  end

  test "an interrupted close waits no longer, and reports what isn't delivered" do
    [->(thread) { thread.raise(Interrupt) }, :kill.to_proc].each do |interrupt|
      offered = nil
      sender = api { |config| config.undelivered = ->(messages) { offered = messages.map { |message| message[:payload] } } }
      sender.produce_async(thing("sent"))
      sender.buffer_many([thing("buffered"), {topic: nil, payload: "odd"}])
      closing = Thread.new { sender.close(timeout_ms: 300_000) }
      closing.report_on_exception = false
      wait_until(10, "the wait for the broker") { sender.status.closing? && sender.messages.size == 1 }
      interrupt.call(closing)
      wait_until(30, "the end of the close") { !closing.alive? }

      assert_predicate sender, :closed?
      assert_equal %w[buffered odd sent], offered&.sort
    end
  end

  test "buffered messages that can be sent are, although others can't; these are reported with the reason" do
    offered, log = nil, StringIO.new
    sender = connected_api do |config|
      config.logger = Logger.new(log)
      config.undelivered = ->(messages) { offered = messages }
      config.middleware.append(->(message) { (message[:payload] == "raises") ? raise(NotImplementedError, "no") : message })
    end
    acknowledged = events_of(sender, "message.acknowledged")
    sender.buffer_many([thing("a"), {topic: nil, payload: "odd"}, thing("raises"), thing("b")])
    sender.close(timeout_ms: 10_000)

    assert_equal 2, all_of(acknowledged).size
    assert_equal [["odd", Penstock::MessageInvalidError], ["raises", NotImplementedError]],
      offered.map { |message| [message[:payload], message[:error].class] }.sort_by(&:first)
    assert_match(/closed with 2 messages undelivered: 2 are certainly not stored.*; Penstock::MessageInvalidError: /, log.string)
  end

  test "a message that may have arrived is unknown" do
    sent = 0
    sender = connected_api(kafka: {"statistics.interval.ms": 50, "socket.timeout.ms": 300_000}) do |config|
      config.undelivered = ->(messages) { @offered = messages }
      config.monitor.subscribe("statistics.emitted") { |event| sent = event[:statistics]["txmsgs"] }
    end
    sender.produce_sync(thing)
    cluster.set_rtt(1, 60_000)
    handle = sender.produce_async(thing("on its way"))
    wait_until(30, "a message in flight") { sent == 2 }
    sender.close(timeout_ms: 100)

    assert_equal :unknown, handle.wait(raise_response_error: false).outcome
    assert_equal [["on its way", :unknown]], @offered.map { |message| message.values_at(:payload, :outcome) }
  end

  test "without a listener they are still counted and logged" do
    log = StringIO.new
    sender = api { |config| config.logger = Logger.new(log) }
    3.times { sender.produce_async(thing(handle: false)) }
    sender.close(timeout_ms: 100)

    assert_match(/closed with 3 messages undelivered: 3 are certainly not stored, 0 may be stored/, log.string)
  end

  test "a close that delivers everything reports nothing" do
    log = StringIO.new
    sender = connected_api { |config| config.logger = Logger.new(log) }
    seen = events_of(sender, "producer.undelivered")
    sender.produce_async(thing)
    sender.buffer(thing)
    sender.close(timeout_ms: 20_000)

    assert_empty seen
    assert_empty log.string
  end

  test "the undelivered callback may raise: the close continues and the error is emitted" do
    sender = api { |config| config.undelivered = ->(_messages) { raise "no disk" } }
    errors = events_of(sender, "error.occurred")
    sender.produce_async(thing)
    sender.close(timeout_ms: 100)

    assert_predicate sender, :closed?
    assert_includes all_of(errors).map { |event| event[:type] }, "producer.undelivered.error"
  end

  test "a full queue doesn't delay a close, and messages that didn't fit are reported too" do
    sender = api(kafka: {"queue.buffering.max.messages": 5}) { |config| config.wait_timeout_on_queue_full = 60_000 }
    seen = events_of(sender, "producer.undelivered")
    5.times { sender.produce_async(thing) }
    3.times { sender.buffer(thing) }

    assert_operator seconds { sender.close(timeout_ms: 500) }, :<, 20
    assert_equal 8, seen.pop[:count]
  end

  test "a listener that hangs doesn't extend a close beyond its time limit" do
    sender = connected_api
    gate = Queue.new
    sender.monitor.subscribe("message.acknowledged") { gate.pop }
    sender.produce_sync(thing)

    assert_operator seconds { sender.close(timeout_ms: 200) }, :<, 20
    assert_predicate sender, :closed?
  ensure
    gate << nil
  end

  test "a forked child reports nothing about its parent's messages" do
    sender = api
    sender.produce_async(thing)
    told = 0
    sender.monitor.subscribe("producer.undelivered") { told += 1 }
    pid = fork do
      sender.close(timeout_ms: 0)
      exit!(told)
    end

    assert_predicate Process.wait2(pid).last, :success?
    sender.close(timeout_ms: 0)
    assert_equal 1, told
  end
end
