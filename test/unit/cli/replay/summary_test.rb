# frozen_string_literal: true

require "test_helper"
require "penstock/cli/replay/dump"
require "penstock/cli/replay/summary"

module Penstock
  class ReplaySummaryTest < TestCase
    Machine = Struct.new(:compared, :difference)
    Difference = Struct.new(:entry)
    Entry = Struct.new(:number)
    FACTS = {"penstock_flight" => 1, "pid" => 7, "reason" => "TT\e[2JIN", "penstock" => "1.0", "ruby" => "3.1.2", "lanes" => [],
             "wall_ms" => 1_700_000_000_000, "monotonic_ms" => 5}.freeze

    def lines(*machines)
      lanes = machines.each_with_index.map { |machine, index| [{"topic" => "orders", "partition" => index}, machine] }
      CLI::Replay::Summary.new(CLI::Replay::Dump.new(FACTS), lanes).lines
    end

    test "a dump that is decided in the same way: what it is, what came out, what that means" do
      assert_equal ['Dump of process 7 (reason: TT\e[2JIN), written at 22:13:20.000 UTC by Penstock 1.0 on Ruby 3.1.2.',
        "12 decisions of 2 partitions were made again: all as recorded.",
        "Penstock decided by its rules: what happened follows from its inputs below, such as an error, a mark or a rebalance."],
        lines(Machine.new(5), Machine.new(7))
    end

    test "partitions with a different decision are named, with the entry" do
      _, result, meaning = lines(Machine.new(5), Machine.new(2, Difference.new(Entry.new(17))))
      assert_equal "7 decisions of 2 partitions were made again: DIFFERENT in orders/1 at entry 17.", result
      assert_match(/another version, or a defect. Please report/, meaning)
    end

    test "a dump without decisions proves nothing" do
      assert_match(/Nothing could be compared/, lines(Machine.new(0)).last)
    end
  end
end
