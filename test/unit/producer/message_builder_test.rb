# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/producer/message_builder"

class ProducerMessageBuilderTest < Penstock::TestCase
  def preparation(count: 10, partitioner: nil)
    rules = Penstock::Producer::MessageRules.new(max_payload_bytes: 100)
    Penstock::Producer::MessageBuilder.new(rules, partitioner: -> { partitioner }) { |topic| (topic == "orders") ? count : -1 }
  end

  def prepared(**parts)
    preparation.call({topic: "orders", payload: "x", **parts})
  end

  test "[Symbol topic] a Symbol is sent as a String, and the caller's Hash isn't changed" do
    message = {topic: :orders, payload: "x"}.freeze

    assert_equal "orders", preparation.call(message)[:topic]
    assert_equal :orders, message[:topic]
  end

  test "timestamps become milliseconds, and 1970 itself means now" do
    assert_equal 1_500, prepared(timestamp: Time.at(1.5))[:timestamp]
    assert_equal 7, prepared(timestamp: 7)[:timestamp]
    refute_includes prepared(timestamp: 0), :timestamp
  end

  test "parts that are nil are removed, except payload and label" do
    message = prepared(payload: nil, key: nil, headers: nil, timestamp: nil, partition_key: nil, label: nil)

    assert_equal({topic: "orders", payload: nil, label: nil}, message)
  end

  test "a partition key chooses the partition by the configured partitioner" do
    message = preparation(partitioner: "murmur2_random").call({topic: "orders", payload: "x", partition_key: "21"})

    assert_equal (-973_932_308 & 0x7fffffff) % 10, message[:partition]
    refute_includes message, :partition_key
  end

  test "a partition wins over a partition key; without a count the key decides" do
    assert_equal 3, prepared(partition: 3, partition_key: "k")[:partition]
    refute_includes preparation.call({topic: "others", payload: "x", partition_key: "k"}), :partition
    refute_includes preparation(partitioner: :random).call({topic: "orders", payload: "x", partition_key: "k"})
      .reject { |_, value| value == -1 }, :partition
  end

  test "an error names the topic, and the message's place in a list" do
    error = assert_raises(Penstock::MessageInvalidError) { prepared(key: "") }
    assert_includes error.message, "to orders"

    list = [{topic: "orders", payload: "x"}, {topic: "orders"}]
    error = assert_raises(Penstock::MessageInvalidError) { preparation.call_all(list) }
    assert_includes error.message, "message 1 of the list"
  end

  test "[Tombstone] a payload is dropped, and a missing partition raises" do
    assert_nil preparation.tombstone({topic: "orders", key: "k", partition: 0, payload: "x"})[:payload]
    error = assert_raises(Penstock::MessageInvalidError) { preparation.tombstone({topic: "orders", key: "k"}) }
    assert_includes error.message, ":partition"
  end
end
