# frozen_string_literal: true

require "test_helper"
require "penstock/admin/offsets_record"

module Penstock
  # Records of __consumer_offsets, byte by byte.
  class AdminOffsetsRecordTest < TestCase
    def text(string) = [string.bytesize].pack("s>") + string.b

    def key(group = "g", topic = "orders", partition = 7, version: 1)
      [version].pack("s>") + text(group) + text(topic) + [partition].pack("l>")
    end

    # As Kafka 4.3.1 writes them: offset 5, leader epoch 2, metadata "m", time 9.
    VALUES = {
      0 => "000000000000000500016d0000000000000009", 1 => "000000000000000500016d0000000000000009ffffffffffffffff",
      2 => "000000000000000500016d0000000000000009", 3 => "00000000000000050000000200016d0000000000000009",
      4 => "000000000000000500000002026d000000000000000900"
    }.freeze

    def value(version, hex = VALUES.fetch(version)) = [version].pack("s>") + [hex].pack("H*")
    def decode(key, value = value(3)) = Admin::OffsetsRecord.decode(key, value)

    test "[recovery] commits of every version are decoded" do
      VALUES.each_key do |version|
        assert_equal ["g", "orders", 7, 5], decode(key, value(version)).to_a, "version #{version}"
      end
      assert_equal ["grüppe", "o", 0, 5], decode(key("grüppe", "o", 0, version: 0)).to_a
    end

    test "a commit without a value was deleted" do
      assert_equal ["g", "orders", 7, nil], decode(key, nil).to_a
    end

    test "what concerns members and groups is something else" do
      [2, 3, 8, 10, 16, 17, 23].each { |version| assert_nil decode([version].pack("s>") + "rest", "anything") }
    end

    test "[recovery] unknown versions are reported with their group, if that is known, and not guessed" do
      assert_equal ["a key of version 24", nil], decode([24].pack("s>") + text("g")).to_a
      assert_equal ["a value of version 5 for g, orders/7", "g"], decode(key, value(5, VALUES.fetch(4))).to_a
      assert_equal ["a value of version nil for g, orders/7", "g"], decode(key, "").to_a
    end

    test "damaged records are reported" do
      [key[0...-1], key + "x", key[0, 5], [1].pack("s>"), [1, -1].pack("s>s>")].each do |damaged|
        assert_equal ["a damaged key of version 1", nil], decode(damaged).to_a
      end
      assert_equal "a damaged value for g, orders/7", decode(key, value(3)[0, 20]).text
      ["", "x", nil].each { |none| assert_equal "a key without a version", decode(none).text }
    end

    # Computed with java.lang.String#hashCode; the hash of "polygenelubricants" is Integer.MIN_VALUE.
    test "[recovery] a group's partition is the one that Kafka computes" do
      {"" => 0, "g" => 3, "console-consumer-1" => 24, "grüppe" => 12, "polygenelubricants" => 0, "billing" => 9,
       "\u{1D11E}key" => 31}
        .each { |group, partition|
        assert_equal partition, Admin::OffsetsRecord.partition_of(group, 50), group
      }
    end
  end
end
