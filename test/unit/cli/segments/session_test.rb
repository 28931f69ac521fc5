# frozen_string_literal: true

require "test_helper"
require "minitest/mock"
require "penstock/cli/segments/session"
require "support/routes"

module Penstock
  # The offsets of split groups: which groups and partitions are read, and where the new ones are written.
  class SegmentsSessionTest < TestCase
    include RoutesSupport

    # An application of which only the routes are asked for.
    Application = Struct.new(:routes) do
      def validate! = self
    end
    # Answers with the offsets of each group, and remembers what it was asked for.
    Admin = Struct.new(:topics, :offsets, :asked) do
      def delete_committed_offsets(group, topics) = asked << [group, topics]

      def read_committed_offsets(group, partitions, stable:)
        asked << [group, partitions, stable]
        offsets.fetch(group, []).map { |topic, partition, offset|
          {topic: topic, partition: partition, offset: offset, metadata: "m"}
        }
      end
    end
    Target = Struct.new(:cluster, :application) do
      def admin = yield(cluster)
      def consumer_settings = {}
      def token_provider = nil
    end

    SPLIT = proc do
      %i[g h].each do |name|
        consumer_group(name) do
          parallel_segments(count: 2)
          topic(:"#{name}_orders") { consumer RoutesSupport::Consumer }
        end
      end
      consumer_group(:whole) { topic(:clicks) { consumer RoutesSupport::Consumer } }
    end

    def session(offsets = {}, topics: {"g_orders" => 2, "h_orders" => 1, "clicks" => 5}, drawn: routes(&SPLIT), **options)
      @admin = Admin.new(topics, offsets, [])
      application = Application.new(drawn) if drawn
      CLI::Target.stub(:new, Target.new(@admin, application)) { CLI::Segments::Session.new(nil, options) }
    end

    test "all split groups are read, each with its segments and the partitions of its own topics" do
      plans = session({"g" => [["g_orders", 1, 7]]}).plans([])
      assert_equal [%w[g g-parallel-0 g-parallel-1], %w[h h-parallel-0 h-parallel-1]], plans.map { |plan|
        [plan.origin, *plan.segments]
      }
      assert_equal [["g", {"g_orders" => [0, 1]}, true], ["h", {"h_orders" => [0]}, true]], @admin.asked.values_at(0, 3)
      assert_equal [["g_orders", 1, 7, "m", [nil, nil]]], plans.first.rows.map(&:to_a)
    end

    test "partitions without an offset have no row" do
      assert_empty session({"g" => [["g_orders", 0, nil]]}).plans(%w[g]).first.rows
    end

    test "a topic that isn't on the cluster is left out, and then nothing is asked for" do
      session(topics: {"clicks" => 5}).plans(%w[g])
      assert_empty @admin.asked
    end

    test "named groups must be split: others are refused with the names of those that are" do
      assert_equal %w[h], session.plans(%w[h]).map(&:origin)
      refused = assert_raises(CLI::Usage) { session.plans(%w[h whole nobody]) }
      assert_equal "whole, nobody: not split by parallel_segments; g, h are", refused.message
    end

    test "without split groups, or without an application, the error names what is missing" do
      none = assert_raises(CLI::Usage) { session(drawn: routes { topic(:a) { consumer RoutesSupport::Consumer } }).plans([]) }
      assert_equal "no consumer group of the application has parallel_segments", none.message
      assert_match(/needs the routes of an application/, assert_raises(CLI::Usage) { session(drawn: nil).plans([]) }.message)
    end

    test "each group's offsets are written by one writer, with the time limit of the command" do
      calls = []
      make = lambda do |_settings, timeout_ms, _provider|
        calls << timeout_ms
        ->(group, rows) { calls << [group, rows] }
      end
      CLI::OffsetWriter.stub(:new, make) { session(timeout: 3).write({"a" => [["t", 0, 1]], "b" => []}) }
      assert_equal [3_000, ["a", [["t", 0, 1]]], ["b", []]], calls
    end

    test "offsets that are nil are removed" do
      writes = []
      CLI::OffsetWriter.stub(:new, ->(*) { ->(group, rows) { writes << [group, rows] } }) do
        session.write({"a" => [["t", 0, 1], ["t", 1, nil], ["t", 2, nil], ["u", 0, nil]]})
      end
      assert_equal [["a", [["t", 0, 1]]]], writes
      assert_equal [["a", {"t" => [1, 2], "u" => [0]}]], @admin.asked
    end
  end
end
