# frozen_string_literal: true

require "test_helper"
require "support/ledger/rebalance"

module Penstock
  # A second process joins and leaves while the first one works, also on a unit that takes seconds and whose partition
  # is revoked. Gaps are those between two ended records of a partition that stays; they must be within the promised
  # limit (an idle machine shows a quarter of it: `bin/bench rebalance`), or within twice the gaps while nothing happens
  # in the group. A gap caused by a rebalance occurs each time, one caused by the machine doesn't: the best of three
  # rounds counts.
  class RebalanceTest < TestCase
    include TestSupport::RealBroker

    STAYING_GAP_MS = 150
    ROUNDS = 3

    def setup = @scenarios = []
    def teardown = @scenarios.each(&:close)

    test "eager: a process joins in mid-batch while a unit of 3 s runs on a revoked partition, and leaves" do
      assert_gap(3_000 + 500) { right("eager") }
    end

    test "[cooperative-sticky] the same with a unit of 5 s; partitions that are kept get no revoked hook" do
      assert_gap(STAYING_GAP_MS) do
        rebalance = right("cooperative")
        running = rebalance.first.entries.take_while { |entry| entry.kind != "S" }
        assert_empty running.select { |entry| entry.kind == "V" }.map(&:partition) - rebalance.taken
        rebalance
      end
    end

    test "KIP-848: the same with a unit of 5 s" do
      assert_gap(STAYING_GAP_MS) { right("KIP-848") }
    end

    private

    # A round in which nothing is lost, doubled or out of order, and no process runs what another still runs.
    def right(protocol)
      scenario = TestSupport::Ledger::Scenario.new(bootstrap_servers, topics: [unique("rebalance")], group: unique("g"))
      @scenarios << scenario
      rebalance = TestSupport::Ledger::Rebalance.new(scenario, protocol).run
      journal = scenario.journal
      assert_predicate rebalance, :overlapped?
      assert_empty journal.lost(scenario.produced).first(5)
      [journal.duplicates, journal.overlaps, journal.out_of_order].each { |found| assert_empty found.first(5) }
      refute_empty rebalance.staying
      rebalance
    end

    def assert_gap(limit_ms)
      seen = []
      held = (1..ROUNDS).any? do
        rebalance = yield
        seen << {calm: rebalance.calm_gap, **rebalance.gaps}
        rebalance.gaps.values.max <= [limit_ms, 2 * rebalance.calm_gap].max
      end
      puts "  gaps of staying partitions (ms): #{seen}" if ENV["PENSTOCK_SHOW"]
      assert held, "gaps of staying partitions, in ms: #{seen}"
    end
  end
end
