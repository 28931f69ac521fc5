# frozen_string_literal: true

require "test_helper"
require "support/ledger/scenario"

module Penstock
  # A second process joins and leaves while the first one works, also on a unit that takes seconds and whose partition is taken
  # away. Gaps are those between two ended records of a partition that stays; they are held to three times the figure that
  # `bin/bench rebalance` shows on an idle machine.
  class RebalanceTest < TestCase
    include TestSupport::RealBroker

    PROTOCOLS = {
      "eager" => [{"partition.assignment.strategy": "range"}, 3_000],
      "cooperative" => [{"partition.assignment.strategy": "cooperative-sticky"}, 5_000],
      "KIP-848" => [{"group.protocol": "consumer"}, 5_000]
    }.freeze
    STAYING_GAP_MS = 450

    def setup
      @scenario = TestSupport::Ledger::Scenario.new(bootstrap_servers, topics: [unique("rebalance")], group: unique("g"))
    end

    def teardown = @scenario&.close

    PROTOCOLS.each do |name, (kafka, unit_ms)|
      test "#{name}: a process joins in mid-batch while a unit of #{unit_ms} ms runs on a revoked partition" do
        first, second = join_during_unit(kafka, unit_ms)
        journal = @scenario.journal
        assert_empty journal.lost(@scenario.produced).first(5)
        assert_empty journal.duplicates.first(5)
        assert_empty journal.overlaps.first(5)
        assert_empty journal.out_of_order.first(5)
        assert_gaps(journal, first, second, eager: name == "eager", unit_ms: unit_ms)
      end
    end

    test "[cooperative-sticky] partitions that are kept get no revoked hook" do
      first, second = join_during_unit(*PROTOCOLS.fetch("cooperative"))
      hooked = first.entries.take_while { |entry| entry.kind != "S" }.select { |entry| entry.kind == "V" }.map(&:partition)
      taken = second.entries.select { |entry| entry.kind == "A" }.map(&:partition)
      assert_empty hooked - taken
      refute_empty taken
    end

    private

    # Partitions 0 and 5 get a unit that takes long; whatever the assignor, one of them moves.
    def join_during_unit(kafka, unit_ms)
      first = start(kafka)
      second = nil
      @scenario.wait_for(first, "A") { |entry| entry.partition == 5 }
      @scenario.feeding(0.01) do
        @scenario.wait_for(first, "E")
        [0, 5].each { |partition| @scenario.produce_one(partition, "idle:#{unit_ms}") }
        second = start(kafka)
        @scenario.wait_for(second, "A", 40)
        @scenario.wait_for(second, "E", 20)
        @scenario.stop(second)
        wait_until(30, "first has all again") { owned(first).size == 6 }
      end
      @scenario.wait_for_all
      @scenario.stop(first)
      [first, second]
    end

    def start(kafka)
      @scenario.start(kafka: {"session.timeout.ms": 10_000, "heartbeat.interval.ms": 500}.merge(kafka).then { |map|
        map.key?(:"group.protocol") ? kafka : map
      }, max_messages: 10, concurrency: 6)
    end

    def owned(worker)
      worker.entries.each_with_object([]) do |entry, list|
        list << entry.partition if entry.kind == "A"
        list.delete(entry.partition) if entry.kind == "G"
      end.uniq
    end

    def assert_gaps(journal, first, second, eager:, unit_ms:)
      from, to = second.entries.first.at, second.entries.last.at
      taken = second.entries.select { |entry| entry.kind == "A" }.map(&:partition)
      staying = (0..5).to_a - taken - [0, 5]
      refute_empty staying
      limit = eager ? unit_ms + 1_500 : STAYING_GAP_MS
      gaps = staying.to_h { |partition|
        [partition, journal.longest_gap([@scenario.topics.first, partition], from: from, to: to).round]
      }
      puts "  gaps of staying partitions (ms): #{gaps}" if ENV["PENSTOCK_SHOW"]
      gaps.each { |partition, gap| assert_operator gap, :<=, limit, "partition #{partition}" }
    end
  end
end
