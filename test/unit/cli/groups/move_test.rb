# frozen_string_literal: true

require "test_helper"
require "penstock/cli/groups/move"

module Penstock
  # Where `groups reset` moves offsets.
  class GroupsMoveTest < TestCase
    NOW = 1_800_000_000_000
    ROWS = [{topic: "a", partition: 0, committed: 50}, {topic: "a", partition: 1, committed: 95}].freeze

    # A log from 10 to 100 in each partition; records of a time are at 60 in partition 0, and none is in partition 1.
    class Cluster
      attr_reader :times

      def read_watermark_offsets(topics) = topics.transform_values { |list| list.to_h { |one| [one, [10, 100]] } }

      def offsets_for_times(topics)
        @times = topics
        {"a" => {0 => 60, 1 => -1}}
      end
    end

    def offsets(to: nil, by: nil, rows: ROWS, cluster: Cluster.new)
      CLI::Groups::Move.new(to, by, NOW).offsets(cluster, rows).values
    end

    test "to the ends of the log, or to an offset" do
      assert_equal [[10, 10], [100, 100], [70, 70]], [offsets(to: "earliest"), offsets(to: "latest"), offsets(to: "70")]
    end

    test "to a time: the first record at or after it, or the end" do
      cluster = Cluster.new

      assert_equal [60, 100], offsets(to: "2h", cluster: cluster)
      assert_equal({"a" => {0 => Time.at(NOW / 1_000 - 7_200), 1 => Time.at(NOW / 1_000 - 7_200)}}, cluster.times)
    end

    test "a time in the future is refused: the group would skip all that it hasn't consumed" do
      assert_equal "--to 2100-01-01T00:00:00Z is in the future: for the end of each partition, write --to latest",
        assert_raises(ArgumentError) { CLI::Groups::Move.new("2100-01-01T00:00:00Z", nil, NOW) }.message
    end

    test "by a number of records, within the log" do
      assert_equal [60, 100], offsets(by: "10")
      assert_equal [10, 15], offsets(by: "-80")
    end

    test "a partition without a commit can be moved to a place" do
      assert_equal [100], offsets(to: "latest", rows: [{topic: "a", partition: 0, committed: nil}])
      assert_predicate CLI::Groups::Move.new(nil, "5", NOW), :relative?
    end

    test "neither, both, and what isn't a place are refused" do
      [[nil, nil], %w[earliest 5]].each do |to, by|
        assert_match(/\Agive --to earliest, latest/, assert_raises(ArgumentError) { CLI::Groups::Move.new(to, by, NOW) }.message)
      end
      assert_match(/"soon" is not a time/, assert_raises(ArgumentError) { CLI::Groups::Move.new("soon", nil, NOW) }.message)
      assert_equal "--by \"x\" is not a number of records", assert_raises(ArgumentError) {
        CLI::Groups::Move.new(nil, "x", NOW)
      }.message
    end
  end
end
