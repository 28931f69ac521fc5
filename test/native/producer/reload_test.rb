# frozen_string_literal: true

require "test_helper"
require "penstock/testing/fatal_errors"
require "support/api_producing"

# A fatal error ends the client of an idempotent producer, and another one takes its place.
class ProducerReloadTest < Penstock::TestCase
  include Penstock::TestSupport::ApiProducing

  INVALID_EPOCH = 47
  FENCED = 90

  def sender(**settings)
    @sender ||= connected_api(kafka: {"enable.idempotence": true, "linger.ms": 0}) do |config|
      config.reload_on_idempotent_fatal_error = true
      config.wait_backoff_on_idempotent_fatal_error = 0
      settings.each { |name, value| config.public_send(:"#{name}=", value) }
    end
  end

  def seen
    @seen ||= events_of(sender, "error.occurred", "producer.reload", "producer.reloaded", "producer.connected")
  end

  def break_client
    Penstock::Testing.inject_fatal_error(sender, INVALID_EPOCH, "a test")
  end

  def fatal_events
    all_of(seen).reject { |event| event.id == "error.occurred" && event[:type] == "librdkafka.error" }
  end

  test "[Fatal injection] an injected error is the producer's fatal error" do
    assert_nil sender.fatal_error
    break_client
    assert_equal [INVALID_EPOCH, "a test"], sender.fatal_error.then { |number, text| [number, text[/a test/]] }
  end

  test "[Idempotent fatal] the next message goes to a new client" do
    sender.produce_sync(thing)
    seen
    break_client

    assert_predicate sender.produce_sync(thing), :delivered?
    assert_nil sender.fatal_error
    told = fatal_events
    assert_equal %w[error.occurred producer.reload producer.reloaded producer.connected], told.map(&:id)
    assert_equal ["librdkafka.idempotent_fatal_error", 1], [told.first[:type], told.first[:attempt]]
    assert_equal [INVALID_EPOCH, true], [told.first[:error].number, told.first[:error].fatal?]
  end

  test "batches, and messages without a handle, go to the new client too" do
    sender.produce_many_sync([thing, thing])
    [-> { sender.produce_many_sync([thing] * 3).map(&:number) }, -> { [sender.produce_async(thing(handle: false))] },
      -> { sender.with(max_wait_timeout: 20_000).produce_sync(thing).delivered? }].each do |use|
      break_client
      assert_includes [[0, 0, 0], [true], true], use.call
    end
    assert sender.flush(20_000)
  end

  test "messages with headers or a timestamp of their own go to the new client too" do
    sender.produce_sync(thing)
    [{headers: {"a" => "b"}}, {timestamp: Time.at(1_700_000_000)}].each do |parts|
      break_client
      assert_predicate sender.produce_sync(thing(**parts)), :delivered?
      break_client
      assert_equal [0, 0], sender.produce_many_sync([thing(**parts), thing]).map(&:number)
    end
  end

  test "middleware runs once per message, whichever client accepts it" do
    runs = 0
    sender.middleware.append(->(message) { (runs += 1) && message })
    sender.produce_sync(thing)
    break_client
    sender.produce_sync(thing)

    assert_equal 2, runs
  end

  test "a listener of the reload may change the properties of the new client" do
    sender.monitor.subscribe("producer.reload") { |event| event[:kafka][:"client.id"] = "another" }
    sender.produce_sync(thing)
    break_client
    sender.produce_sync(thing)

    assert_equal "another", sender.config.kafka[:"client.id"]
    assert_match(/another/, sender.client.name)
  end

  test "[Reload limit] clients that deliver nothing are replaced up to the limit" do
    sender(max_attempts_on_idempotent_fatal_error: 3)
    seen
    sender.monitor.subscribe("producer.connected") do
      sender.client.inject_fatal_error(INVALID_EPOCH, "always")
    end
    error = assert_raises(Penstock::ProduceError) { sender.produce_async(thing) }

    assert_equal [INVALID_EPOCH, :invalid_producer_epoch], [error.cause.number, error.code]
    assert_equal [1, 2, 3], fatal_events.select { |event| event.id == "producer.reload" }.map { |event| event[:attempt] }
  end

  test "a delivery resets the count" do
    sender(max_attempts_on_idempotent_fatal_error: 1)
    3.times do
      sender.produce_sync(thing)
      break_client
    end

    assert_predicate sender.produce_sync(thing), :delivered?
  end

  test "[Concurrent reload] one of many threads replaces the client, and none gets a raw error" do
    sender.produce_sync(thing)
    seen
    break_client
    gate = Queue.new
    threads = Array.new(12) { Thread.new { gate.pop || sender.produce_async(thing) } }
    12.times { gate << nil }
    handles = threads.map(&:value)

    assert(handles.all? { |handle| handle.wait.delivered? })
    assert_equal 1, fatal_events.count { |event| event.id == "producer.reload" }
  end

  test "[Fenced] a fenced producer keeps its client and raises the error" do
    sender.produce_sync(thing)
    seen
    Penstock::Testing.inject_fatal_error(sender, FENCED, "a test")
    2.times { assert_instance_of Penstock::FencedError, assert_raises(Penstock::ProduceError) { sender.produce_async(thing) }.cause }

    assert_empty(all_of(seen).select { |event| event.id == "producer.reload" })
    assert_equal FENCED, sender.fatal_error.first
  end

  test "without the setting no client is replaced" do
    sender(reload_on_idempotent_fatal_error: false)
    sender.produce_sync(thing)
    break_client

    assert_equal INVALID_EPOCH, assert_raises(Penstock::ProduceError) { sender.produce_async(thing) }.cause.number
    assert_equal INVALID_EPOCH, assert_raises(Penstock::ProduceError) { sender.produce_sync(thing) }.cause.number
  end

  test "messages in flight with the old client are resolved once" do
    sender.produce_sync(thing)
    cluster.set_rtt(1, 150)
    handles = Array.new(50) { sender.produce_async(thing) }
    break_client
    later = sender.produce_async(thing)

    outcomes = handles.map { |handle| handle.wait(timeout_ms: 20_000, raise_response_error: false).outcome }
    assert_empty outcomes - %i[delivered failed unknown]
    assert_predicate later.wait(timeout_ms: 20_000), :delivered?
  end

  test "for a message that must not wait the client is replaced, and it is sent when it is offered again" do
    ready = sender.ready(thing)
    break_client
    assert_raises(Penstock::KafkaError) { sender.dispatch(ready) }
    handle = wait_until(20, "a new client") do
      sender.dispatch(ready)
    rescue Penstock::KafkaError
      nil
    end

    assert_predicate handle.wait, :delivered?
  end

  test "a close ends the pause after a reload" do
    sender(wait_backoff_on_idempotent_fatal_error: 60_000)
    sender.produce_sync(thing)
    reloaded = events_of(sender, "producer.reloaded")
    break_client
    thread = Thread.new { assert_raises(Penstock::ProducerClosedError) { sender.produce_sync(thing) } }
    reloaded.pop
    sender.close(timeout_ms: 1_000)

    assert thread.join(20)
  end
end
