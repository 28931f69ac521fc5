# frozen_string_literal: true

require "test_helper"
require "support/ledger/rebalance"

module Penstock
  # A second process joins and leaves while the first one works, also on a unit that takes seconds and whose partition is taken
  # away. Gaps are those between two ended records of a partition that stays; they are held to three times the target that
  # `bin/bench rebalance` measures on an idle machine.
  class RebalanceTest < TestCase
    include TestSupport::RealBroker

    Rebalance = TestSupport::Ledger::Rebalance
    STAYING_GAP_MS = 450

    def setup
      @scenario = TestSupport::Ledger::Scenario.new(bootstrap_servers, topics: [unique("rebalance")], group: unique("g"))
    end

    def teardown = @scenario&.close

    test "eager: a process joins in mid-batch while a unit of 3 s runs on a revoked partition, and leaves" do
      assert_right(Rebalance.new(@scenario, "eager").run, gap_ms: 3_000 + 1_500)
    end

    test "[cooperative-sticky] the same with a unit of 5 s; partitions that are kept get no revoked hook" do
      rebalance = Rebalance.new(@scenario, "cooperative").run
      assert_right(rebalance, gap_ms: STAYING_GAP_MS)
      running = rebalance.first.entries.take_while { |entry| entry.kind != "S" }
      assert_empty running.select { |entry| entry.kind == "V" }.map(&:partition) - rebalance.taken
    end

    test "KIP-848: the same with a unit of 5 s" do
      assert_right(Rebalance.new(@scenario, "KIP-848").run, gap_ms: STAYING_GAP_MS)
    end

    private

    def assert_right(rebalance, gap_ms:)
      assert_predicate rebalance, :overlapped?
      journal = @scenario.journal
      assert_empty journal.lost(@scenario.produced).first(5)
      assert_empty journal.duplicates.first(5)
      assert_empty journal.overlaps.first(5)
      assert_empty journal.out_of_order.first(5)
      assert_gaps(rebalance, gap_ms)
    end

    def assert_gaps(rebalance, limit)
      refute_empty rebalance.staying
      puts "  gaps of staying partitions (ms): #{rebalance.gaps}" if ENV["PENSTOCK_SHOW"]
      rebalance.gaps.each { |partition, gap| assert_operator gap, :<=, limit, "partition #{partition}" }
    end
  end
end
