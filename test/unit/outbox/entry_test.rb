# frozen_string_literal: true

require "test_helper"
require "penstock/outbox"
require "penstock/outbox/entry"

class OutboxEntryTest < Penstock::TestCase
  Entry = Penstock::Outbox::Entry
  RULES = Penstock::Producer::MessageRules.new(max_payload_bytes: 10)

  test "all problems of a message are reported at once" do
    problems = Entry.problems({topic: "a b", payload: "x" * 11, key: "", label: 1, handle: false,
      headers: {"penstock-outbox-id" => "1", 2 => "x", "\xFF" => "y"}}, RULES)

    assert_equal 8, problems.size
    [":label", ":handle", ":topic", ":payload has 11", ":key", "reserved for the outbox", "header 2", "valid text"].each do |part|
      assert problems.any? { |problem| problem.include?(part) }, part
    end
  end

  test "a message that isn't a Hash is reported as the producer reports it" do
    assert_equal RULES.problems("x"), Entry.problems("x", RULES)
  end

  test "rows of one topic and key, partition key or partition have the same strand" do
    strand = Entry.strand({topic: "a", key: "1"})

    assert_equal strand, Entry.strand({topic: :a, key: "1".b, payload: "other"})
    assert_equal strand, Entry.strand({topic: "a", key: "2", partition_key: "1"}), "the same partition"
    assert_equal strand, Entry.strand({topic: "a", key: "1", partition: -1})
    assert_equal Entry.strand({topic: "a", partition: 3}), Entry.strand({topic: "a", partition: 3, key: "9"})
  end

  test "other topics, keys and partitions have other strands; a row without any of them has none" do
    strands = [{topic: "a", key: "1"}, {topic: "b", key: "1"}, {topic: "a", key: "2"}, {topic: "a", partition: 1}]

    assert_equal 4, strands.map { |message| Entry.strand(message) }.uniq.size
    assert_nil Entry.strand({topic: "a"})
  end

  test "a strand is the same in every version, because rows outlive processes" do
    assert_equal(-6_547_110_199_466_349_644, Entry.strand({topic: "orders", key: "42"}))
  end

  test "a row becomes the original message, with the time of the enqueue and its id" do
    message = {topic: "a", payload: "p", key: "k", headers: {"h" => "v"}, partition_key: "pk"}
    row = Entry.columns(message, 1_700).transform_keys(&:to_s).merge("id" => 5)

    assert_equal message.merge(timestamp: 1_700, headers: {"h" => "v", "penstock-outbox-id" => "5-1700"}), Entry.message(row)
  end

  test "tombstones, partitions and timestamps are kept" do
    message = {topic: "a", payload: nil, partition: 2, timestamp: Time.at(1, 500_000)}
    row = Entry.columns(message, 9).transform_keys(&:to_s).merge("id" => 5)

    assert_equal({topic: "a", payload: nil, partition: 2, timestamp: 1_500, headers: {"penstock-outbox-id" => "5-9"}},
      Entry.message(row))
  end

  test "a row with a time before 1970 becomes a message that the producer accepts, with the time at which it was written" do
    row = Entry.columns({topic: "a", payload: nil, timestamp: 4_999}, 9).transform_keys(&:to_s)
    message = Entry.message(row.merge("id" => 5, "timestamp_ms" => -4_999))

    assert_equal 9, message[:timestamp]
    assert_empty RULES.problems(message)
  end

  test "headers that other code wrote and that can't be read are an error of their row" do
    ['{"a"', "[1]", '{"a":{"x":1}}', '{"a":{"base64":"%"}}'].each do |text|
      error = assert_raises(Penstock::MessageInvalidError) do
        Entry.message({"id" => 7, "topic" => "a", "headers" => text, "created_ms" => 1})
      end
      assert_includes error.message, "row 7"
    end
  end
end
