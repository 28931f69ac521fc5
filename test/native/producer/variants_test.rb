# frozen_string_literal: true

require "test_helper"
require "support/api_producing"

# librdkafka's behaviour with topics that have properties of their own.
class ProducerTopicPropertiesTest < Penstock::TestCase
  include Penstock::TestSupport::ApiProducing

  test "a variant's properties apply to its topic: with acks 0 there is no offset to report" do
    sender = connected_api(kafka: {"enable.idempotence": false})
    report = sender.with(topic_config: {acks: 0}).produce_sync(thing)

    assert_predicate report, :delivered?
    assert_operator report.offset, :<, 0
  end

  test "each method of producing uses the variant's properties, with one client" do
    cluster.create_topic("others", 1)
    sender = connected_api(kafka: {"enable.idempotence": false})
    sender.produce_sync(topic: "others", payload: "x")
    variant = sender.with(topic_config: {acks: 0})
    reports = [variant.produce_async(thing).wait, *variant.produce_many_sync([thing, thing]).map(&:create_result),
      *variant.produce_many_async([thing]).map(&:wait), variant.tombstone_sync(topic: "things", key: "k", partition: 0)]

    assert(reports.all? { |report| report.topic == "things" && report.offset.negative? })
    assert_operator sender.produce_sync(topic: "others", payload: "x").offset, :>=, 0
    assert_equal 2, sender.with(topic_config: {acks: 0}).partition_count("things")
  end

  # librdkafka uses the first configuration of a topic and silently ignores all others (librdkafka#1155).
  test "a topic in use with other properties is refused, whichever was first" do
    sender = connected_api(kafka: {"enable.idempotence": false})
    sender.produce_sync(thing)
    error = assert_raises(Penstock::VariantInvalidError) { sender.with(topic_config: {acks: 0}).produce_sync(thing) }
    assert_match(/things is in use with other properties.*separate producer/, error.message)

    cluster.create_topic("others", 1)
    sender.with(topic_config: {acks: 0}).produce_sync(topic: "others", payload: "x")
    assert_equal :conflict, assert_raises(Penstock::ProduceError) { sender.produce_sync(topic: "others", payload: "x") }.code
    assert_equal 1, sender.partition_count("others")
  end

  test "a variant's close sends what was buffered through it" do
    sender = connected_api(kafka: {"enable.idempotence": false})
    variant = sender.with(topic_config: {acks: 0})
    variant.produce_sync(thing)
    acknowledged = events_of(sender, "message.acknowledged")
    variant.buffer_many([thing("a"), thing("b")])
    undelivered = events_of(sender, "producer.undelivered")
    variant.close

    assert_equal [2, []], [all_of(acknowledged).size, all_of(undelivered)]
  end

  test "a partition_key is mapped by the variant's partitioner, as a key is" do
    cluster.create_topic("many", 12)
    sender = connected_api
    variant = sender.with(topic_config: {partitioner: "murmur2_random"})
    keys = Array.new(8) { |index| "key #{index}" }
    by_key = keys.map { |key| variant.produce_sync(topic: "many", payload: "x", key: key).partition }
    by_partition_key = keys.map { |key| variant.produce_sync(topic: "many", payload: "x", partition_key: key).partition }
    assert_equal by_key, by_partition_key
  end

  test "a variant with the client's own properties is not refused" do
    sender = connected_api(kafka: {"message.timeout.ms": 20_000})
    message = thing(partition: 0)
    sender.produce_sync(message)

    assert_equal 1, sender.with(topic_config: {acks: "all", "delivery.timeout.ms": 20_000}).produce_sync(message).offset
  end

  test "a message has the variant's timeout" do
    sender = api
    report = sender.with(topic_config: {"message.timeout.ms": 100}).produce_async(thing).wait(raise_response_error: false)

    assert_equal :msg_timed_out, report.error.code
  end

  test "[current_variant in callback] a listener of deliveries has the producer's own settings, whichever thread waits for them" do
    sender = connected_api { |config| config.max_wait_timeout = 60_000 }
    seen = Queue.new
    sender.monitor.subscribe("message.acknowledged") { seen << [sender.current_variant.max_wait_timeout, Thread.current] }
    own = []
    sender.monitor.subscribe("message.produced_sync") { own << sender.current_variant.max_wait_timeout }
    sender.with(max_wait_timeout: 30_000).produce_sync(thing)
    heard = wait_until(20, "an event") { seen.pop unless seen.empty? }

    assert_equal [60_000, 30_000], [heard.first, *own]
    refute_same Thread.current, heard.last
  end

  test "a variant outlives its client" do
    sender = connected_api(kafka: {"enable.idempotence": false})
    variant = sender.with(topic_config: {acks: 0})
    variant.produce_sync(thing)
    assert(wait_until(20, "a client without work") { sender.disconnect })

    assert_operator variant.produce_sync(thing).offset, :<, 0
  end
end
