# frozen_string_literal: true

require "test_helper"
require "support/api_producing"

# Statistics and errors, and which producer emits them.
class ProducerTellingTest < Penstock::TestCase
  include Penstock::TestSupport::ApiProducing

  STATISTICS = {"statistics.interval.ms": 50}.freeze

  test "[Stats off] without a listener there are no statistics" do
    sender = connected_api(kafka: STATISTICS)
    sender.produce_sync(thing)
    properties = sender.config.native_properties(statistics: sender.monitor.subscribed?("statistics.emitted"))

    assert_equal "0", properties["statistics.interval.ms"]
  end

  test "[Late stats subscribe] subscribing after the first message raises" do
    sender = connected_api(kafka: STATISTICS)
    sender.produce_sync(thing)
    error = assert_raises(Penstock::StatisticsNotEnabledError) { sender.monitor.subscribe("statistics.emitted") { flunk } }
    assert_match(/before its first message/, error.message)
    listener = Class.new { define_method(:on_statistics_emitted) { |_event| nil } }.new
    assert_raises(Penstock::StatisticsNotEnabledError) { sender.monitor.subscribe(listener) }
  end

  test "further listeners may subscribe if one has subscribed in time" do
    sender = connected_api(kafka: STATISTICS)
    first = events_of(sender, "statistics.emitted")
    sender.produce_sync(thing)
    second = events_of(sender, "statistics.emitted")

    wait_until(20, "statistics for both") { !first.empty? && !second.empty? }
    refute_empty second
  end

  test "[Stats isolation] producers emit only their own statistics" do
    senders = Array.new(2) { |index| connected_api(kafka: {**STATISTICS, "client.id": "sender-#{index}"}) }
    seen = senders.map { |sender| events_of(sender, "statistics.emitted") }
    senders.each { |sender| sender.produce_sync(thing) }
    wait_until(20, "statistics of both") { seen.all? { |events| events.size > 1 } }

    names = seen.map { |events| all_of(events).map { |event| event[:statistics]["client_id"] }.uniq }
    assert_equal [["sender-0"], ["sender-1"]], names
  end

  test "[FD poller] without listeners the Ruby threads of many producers only wait for log lines" do
    before = Thread.list
    senders = Array.new(50) { connected_api }
    senders.each { |sender| sender.produce_async(thing) }

    assert(senders.all? { |sender| sender.flush(30_000) })
    threads = Thread.list - before
    assert_equal ["penstock.reporter"] * 50, threads.map(&:name)
    wait_until(20, "idle threads") { threads.all?(&:stop?) }
    assert_equal [0], senders.map { |sender| sender.client.take_reports(1).size }.uniq
  end

  test "[Slow callback isolation] a listener that hangs only blocks its own producer's events" do
    slow = connected_api
    other = connected_api
    gate = Queue.new
    slow.monitor.subscribe("message.acknowledged") { gate.pop }
    heard = events_of(other, "message.acknowledged")
    slow.produce_sync(thing)
    other.produce_sync(thing)

    wait_until(20, "the other's event") { heard.size == 1 }
    assert_predicate slow.produce_sync(thing), :delivered?
  ensure
    5.times { gate << nil }
  end

  test "[Close from callback] a listener of deliveries may close the producer" do
    sender = connected_api
    sender.monitor.subscribe("message.acknowledged") { sender.close }
    handle = sender.produce_async(thing)

    wait_until(30, "a closed producer") { sender.closed? }
    assert_predicate handle.wait, :delivered?
  end

  test "[Error types] each kind of failure has its own error type" do
    small = {"message.timeout.ms": 200, "queue.buffering.max.messages": 2}
    lost = api(kafka: small) { |config| config.wait_on_queue_full = false }
    seen = events_of(lost, "error.occurred")
    assert_raises(Penstock::ProduceError) { lost.produce_sync(thing) }
    assert_raises(Penstock::ProduceManyError) { lost.produce_many_sync([thing]) }
    assert_raises(Penstock::ProduceManyError) { lost.produce_many_async([thing] * 5) }
    assert_raises(Penstock::ProduceError) { 3.times { lost.produce_async(thing) } }
    wanted = %w[librdkafka.error librdkafka.dispatch_error message.produce_sync message.produce_async messages.produce_many_sync
      messages.produce_many_async]
    types = []
    wait_until(30, "each type", state: -> { types.uniq }) do
      (wanted - types.concat(all_of(seen).map { |event| event[:type] })).empty?
    end

    assert_empty types.uniq - wanted
  end
end
