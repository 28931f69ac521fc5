# frozen_string_literal: true

require "test_helper"
require "support/native_producing"

class NativeProducerTest < Penstock::TestCase
  include Penstock::TestSupport::NativeProducing

  Producer = Penstock::Native::Producer

  test "a dispatched message is resolved by its report" do
    delivery = dispatch(producer, "hello", key: "k", partition: 1)

    assert delivery.wait(10_000)
    assert_equal [0, "things", 1, 0, :persisted],
      [delivery.number, delivery.topic, delivery.partition, delivery.offset, delivery.persisted]
    assert_predicate delivery, :done?
    refute_predicate delivery, :unknown?
    assert_operator delivery.timestamp, :>, 0
  end

  test "a pending delivery knows its topic and nothing else" do
    delivery = dispatch(stranded_producer)

    refute_predicate delivery, :done?
    assert_equal "things", delivery.topic
    assert_equal [nil] * 6, [delivery.number, delivery.partition, delivery.offset, delivery.timestamp, delivery.error,
      delivery.row]
  end

  test "without a handle dispatch returns true, and the message is still sent" do
    native = producer

    assert_equal true, dispatch(native, handle: false)
    assert native.flush(10_000)
    assert_equal [1, 0], native.counts
  end

  test "dispatch accepts Strings and Symbols as topic once it is open" do
    native = producer

    assert_nil native.dispatch({topic: "unopened", payload: "x"})
    assert native.dispatch({topic: :things, payload: "x"}).wait(10_000)
  end

  DOUBTS = {
    "no Hash" => "x",
    "no topic" => {payload: "x"},
    "no payload" => {topic: "things"},
    "a payload that is no String" => {topic: "things", payload: 1},
    "an empty key" => {topic: "things", payload: "x", key: ""},
    "a key that is no String" => {topic: "things", payload: "x", key: :k},
    "a partition below -1" => {topic: "things", payload: "x", partition: -2},
    "a nil partition" => {topic: "things", payload: "x", partition: nil},
    "a timestamp that is a Time" => {topic: "things", payload: "x", timestamp: Time.at(0)},
    "headers that are no Hash" => {topic: "things", payload: "x", headers: []},
    "a header name that is no String" => {topic: "things", payload: "x", headers: {a: "b"}},
    "a header value that is no String" => {topic: "things", payload: "x", headers: {"a" => 1}},
    "a header list with something else in it" => {topic: "things", payload: "x", headers: {"a" => ["b", 1]}},
    "an unknown key" => {topic: "things", payload: "x", colour: "red"},
    "a partition key" => {topic: "things", payload: "x", partition_key: "k"},
    "a handle that is neither true nor false" => {topic: "things", payload: "x", handle: nil}
  }.freeze

  DOUBTS.each do |what, message|
    test "dispatch leaves #{what} to Ruby and sends nothing" do
      native = stranded_producer

      assert_nil native.dispatch(message)
      refute native.plain?([message])
      assert_equal 0, native.queue_size
    end
  end

  test "a payload above the limit is left to Ruby" do
    native = Producer.new({"bootstrap.servers" => NOBODY}, max_payload_bytes: 3)
    producers << native
    native.open_topic("things")

    assert dispatch(native, "abc")
    assert_nil dispatch(native, "abcd")
  end

  test "offer raises if librdkafka refuses the message" do
    native = stranded_producer(message_max_bytes: 1_000)
    error = assert_raises(Penstock::KafkaError) { native.produce("things", "x" * 2_000) }

    assert_equal :msg_size_too_large, error.code
    assert_equal 0, native.queue_size
  end

  test "a topic that librdkafka refuses is refused when it is opened" do
    assert_raises(Penstock::KafkaError) { stranded_producer.open_topic("x" * 600) }
  end

  test "a configuration that librdkafka refuses is an error and leaks nothing" do
    error = assert_raises(Penstock::KafkaError) { Producer.new({"no.such.property" => "1"}) }

    assert_equal :invalid_arg, error.code
    assert_raises(Penstock::KafkaError) { Producer.new({"enable.idempotence" => "true", "acks" => "1"}) }
  end

  test "many messages are sent in slices and keep their order" do
    native = producer
    messages = Array.new(5_000) { |index| {topic: "things", payload: index.to_s, partition: 0, headers: {"n" => "1"}} }
    accepted = []
    assert_equal 0, native.dispatch_slice(messages, accepted.size, true, accepted) while accepted.size < messages.size

    assert native.flush(10_000)
    assert_equal (0...5_000).to_a, accepted.map(&:offset)
  end

  test "a slice ends before a message it can't read, and reports one at its beginning" do
    native = producer
    messages = [{topic: "things", payload: "x"}, {topic: "things", payload: 1}]
    accepted = []

    assert_equal 0, native.dispatch_slice(messages, 0, true, accepted)
    assert_equal 1, accepted.size
    refute_equal 0, native.dispatch_slice(messages, 1, true, accepted)
    assert_equal 1, accepted.size
  end

  test "a slice has at most 1 MiB, except for its first message" do
    native = stranded_producer(message_max_bytes: 10_000_000)
    big = Producer.new({"bootstrap.servers" => NOBODY, "message.max.bytes" => "10000000"}, max_payload_bytes: 5_000_000)
    producers << big
    big.open_topic("things")
    messages = Array.new(4) { {topic: "things", payload: "x" * 3_000_000} }
    accepted = []

    assert_equal 0, big.dispatch_slice(messages, 0, true, accepted)
    assert_equal 1, accepted.size
    assert_nil native.dispatch(messages.first)
  end

  test "the delivery and the report have the message's label, even if the handle is gone" do
    native = producer
    native.want(Producer::WANT_DELIVERED)
    label = Object.new

    assert_same label, dispatch(native, label: label).label
    dispatch(native, label: label, handle: false)
    GC.start
    assert native.flush(10_000)
    rows = wait_until(5, "two reports") { (@rows ||= []).concat(native.take_reports(256)).size == 2 && @rows }
    rows.each { |row| assert_same label, row.first }
  end

  test "reports without a listener are not kept" do
    native = producer

    dispatch(native).wait(10_000)
    assert_empty native.take_reports(256)
  end

  test "an error of the client is kept as text, and as an event if it is wanted" do
    native = stranded_producer
    native.want(Producer::WANT_ERRORS)
    event = wait_until(10, "error event") { native.poll_event }

    assert_equal :error, event.first
    assert_equal "_TRANSPORT", event[2] unless event[2] == "_ALL_BROKERS_DOWN"
    refute_empty native.last_error
    refute event.last, "fatal"
  end

  test "statistics are events while they are wanted, and only the newest is kept" do
    native = stranded_producer(statistics_interval_ms: 50)
    native.want(Producer::WANT_STATISTICS)
    kind, json = wait_until(10, "statistics") { native.poll_event }

    assert_equal :stats, kind
    assert_includes json, native.name
  end

  test "a fatal error is reported with its real code" do
    native = stranded_producer(enable_idempotence: true)
    native.want(Producer::WANT_ERRORS)
    native.inject_fatal_error(47, "a test")
    event = wait_until(10, "fatal event") { [native.poll_event].compact.find(&:last) }

    assert_equal [:error, 47], event.first(2)
    assert_equal 47, native.fatal_error.first
    [{}, {headers: {"a" => "b"}}, {timestamp_ms: 1_700_000_000_000}].each do |parts|
      error = assert_raises(Penstock::KafkaError) { native.produce("things", "x", **parts) }
      assert_equal :fatal, error.code
    end
  end

  test "the number of partitions is queried from the cluster" do
    native = producer

    assert_equal 2, native.query_partitions("things", 10_000)
  end

  test "[Partitioners] murmur2 matches Java's vectors; the others are librdkafka's own" do
    # Java's own: org.apache.kafka.common.utils.Utils.murmur2, as its UtilsTest has it.
    java = {"21" => -973_932_308, "foobar" => -790_332_482, "a-little-bit-long-string" => -985_981_536,
            "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8" => -58_897_971}

    java.each { |key, hash| assert_equal (hash & 0x7fffffff) % 100, Producer.partition_for("murmur2", key, 100), key }
    assert_includes 0...7, Producer.partition_for("consistent_random", "key", 7)
    assert_equal(-1, Producer.partition_for("random", "key", 7))
    assert_raises(ArgumentError) { Producer.partition_for("murmur2", "key", 0) }
  end
end
