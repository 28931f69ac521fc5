# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/cli/segments/plan"
require "penstock/cli/segments/session"
require "support/commands"

module Penstock
  # The commands about split groups: an objection against one group keeps all of them unchanged.
  class SegmentsMoveTest < TestCase
    include TestSupport::Commands

    # Plans by the names of their groups; remembers what was asked for and what was written.
    Session = Struct.new(:all, :asked, :written) do
      def plans(names)
        self.asked = names
        all
      end

      def write(moves) = written << moves
    end

    # @param offsets [Hash{String => Integer}] offset of t/0 by group
    def plan(origin, offsets)
      ids = ["#{origin}-parallel-0", "#{origin}-parallel-1"]
      CLI::Segments::Plan.new(origin, ids, [origin, *ids].to_h { |id| [id, offsets[id] ? {["t", 0] => [offsets[id], nil]} : {}] })
    end

    def segments(name, *argv, plans: [plan("g", "g" => 5)])
      @session = Session.new(plans, nil, [])
      replacing(CLI::Segments::Session, @session) { penstock("parallel_segments", name, *argv) }
    end

    test "without objections every group is moved and reported" do
      moved = segments("distribute", plans: [plan("g", "g" => 5), plan("h", "h" => 7)])
      assert_equal ["g: 1 partition to g-parallel-0, g-parallel-1\nh: 1 partition to h-parallel-0, h-parallel-1\n", "", 0],
        moved.to_a
      assert_equal [["t", 0, 5, nil]], @session.written.first["g-parallel-1"]
    end

    test "one objection keeps all groups unchanged, unless --force is given" do
      plans = [plan("g", "g" => 5), plan("h", "h" => 7, "h-parallel-0" => 6)]
      refused = segments("distribute", plans: plans)
      assert_equal ["", "h-parallel-0 has offsets that would be lost\nNothing was changed. --force does it anyway.\n", 1],
        refused.to_a
      assert_empty @session.written
      forced = segments("distribute", "--force", plans: plans)
      assert_equal [0, 2], [forced.code, @session.written.size]
      assert_includes forced.err, "would be lost"
    end

    test "collapse writes the lowest offset of the segments for the group" do
      segments("collapse", plans: [plan("g", "g-parallel-0" => 4, "g-parallel-1" => 4)])
      assert_equal [{"g" => [["t", 0, 4]]}], @session.written
      assert_equal 1, segments("collapse", plans: [plan("g", "g-parallel-0" => 4, "g-parallel-1" => 9)]).code
    end

    test "a reset counts the partitions in which offsets are removed" do
      moved = segments("reset", "--force", plans: [plan("g", "g-parallel-0" => 4)])
      assert_equal "g: 1 partition to g, g-parallel-0, g-parallel-1\n", moved.out
      assert_equal [{"g" => [], "g-parallel-0" => [["t", 0, nil]], "g-parallel-1" => []}], @session.written
    end

    test "groups are named as arguments or with --groups, each once" do
      segments("distribute", "g", "h", "--groups", "h,i")
      assert_equal %w[g h i], @session.asked
    end

    test "plan shows the offsets of each group and what is possible, and writes nothing" do
      found = segments("plan", plans: [plan("g", "g" => 5, "g-parallel-0" => 4, "g-parallel-1" => 3)])
      assert_equal <<~TEXT, found.out
        topic  partition  g  g-parallel-0  g-parallel-1
        t              0  5             4             3
        distribute: g-parallel-0, g-parallel-1 have offsets that would be lost
        collapse: the segments of g have different offsets in t/0: starting from the lowest repeats what the others have done

      TEXT
      assert_includes segments("plan").out, "distribute: possible\n"
      assert_empty @session.written
    end

    test "plan as JSON has the offsets and the objections of each group" do
      facts = JSON.parse(segments("plan", "--json").out).first
      assert_equal ["g", [{"topic" => "t", "partition" => 0, "origin" => 5, "segments" => [nil, nil]}], [],
        ["the segments of g have no offsets"]],
        facts.values_at("group", "partitions", "distribute", "collapse")
    end
  end
end
