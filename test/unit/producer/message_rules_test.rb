# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/message_rules"

class ProducerMessageRulesTest < Penstock::TestCase
  RULES = Penstock::Producer::MessageRules.new(max_payload_bytes: 10)

  def problems(message = nil, **parts)
    RULES.problems(message || {topic: "orders", payload: "x"}.merge(parts))
  end

  def refused(part, **parts)
    found = problems(**parts)
    assert_equal 1, found.size, found.inspect
    assert_includes found.first, part
  end

  test "a complete message is valid" do
    assert_empty problems(key: "k", partition: 3, partition_key: "p", timestamp: Time.at(1), label: Object.new,
      headers: {"a" => "1", "b" => ["1", nil], "c" => nil, "d" => []}, handle: false)
    assert_empty problems(topic: :orders, payload: nil, key: nil, partition: -1, timestamp: 0, headers: {})
  end

  test "a message that isn't a Hash is refused" do
    assert_equal ["must be a Hash, is String"], problems("orders")
  end

  test "an error shows values without control characters and shortened" do
    hostile = "a\e[2J\u202E\n" + ("x" * 1_000_000)
    found = problems({:topic => hostile, :key => hostile.to_sym, :headers => {"h" => 5, hostile => 5}, "bad\e" => 1})

    assert_operator found.sum(&:bytesize), :<, 1_000
    refute_match(/[[:cntrl:]]|\u202E/, found.join)
    assert_includes found.join, 'is "a\e[2J\u202E\nx'
  end

  test "topic names use Kafka's alphabet, and aren't . or .." do
    ["..a", "...", "a."].each { |topic| assert_empty problems(topic: topic) }
    [".", "..", :"..", "", "a b", "a/b", nil, 1, "a\n", "x" * 250, "a\xFF", "\xFF".b].each do |topic|
      refused(":topic", topic: topic)
    end
  end

  test "[Payload size] a payload of the limit is accepted, one byte more is refused" do
    assert_empty problems(payload: "x" * 10)
    refused("11 bytes", payload: "x" * 11)
    refused("12 bytes", payload: "ü" * 6)
  end

  test "a payload must be given, as a String or nil" do
    assert_includes problems({topic: "orders"}).first, ":payload is missing"
    refused(":payload", payload: 1)
  end

  test "keys are Strings that aren't empty" do
    ["", 1, :k].each do |key|
      refused(":key", key: key)
      refused(":partition_key", partition_key: key)
    end
  end

  test "partitions are Integers of at least -1, and not nil" do
    [-2, nil, "1", 1.5, 2**31].each { |partition| refused(":partition", partition: partition) }
  end

  test "timestamps are Times or Integers" do
    ["now", 1.5, -1, 2**63, Time.at(-1), Time.at(10**17)].each { |timestamp| refused(":timestamp", timestamp: timestamp) }
  end

  test "[Bad header] names and values of headers are Strings" do
    refused(":headers", headers: [])
    refused("name of header :a", headers: {a: "1"})
    refused('header "a"', headers: {"a" => 1})
    refused('header "a"', headers: {"a" => ["1", 2]})
    refused('header "a"', headers: {"a" => {}})
    refused("must not contain a NUL byte", headers: {"a\0b" => "1"})
    refused("must not contain a NUL byte", headers: {"ab".encode("UTF-16LE") => "1"})
  end

  test "[Unknown message key] an unknown key is refused with the nearest name" do
    refused("Did you mean payload?", paylod: "x")
    refused(":colour is unknown", colour: "red")
    refused("is unknown", "topic" => "orders")
  end

  test "handle is true or false" do
    refused(":handle", handle: nil)
  end

  test "all problems of a message are reported at once" do
    assert_equal 4, problems(topic: "", payload: 1, key: "", partition: nil).size
  end

  test "tombstones need a key and a partition" do
    assert_empty RULES.tombstone_problems({topic: "orders", key: "k", partition: 0})
    assert_equal 2, RULES.tombstone_problems({topic: "orders"}).size
    assert_equal 1, RULES.tombstone_problems({topic: "orders", key: "k", partition: -1}).size
  end
end
