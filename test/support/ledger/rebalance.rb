# frozen_string_literal: true

require_relative "scenario"

module Penstock
  module TestSupport
    module Ledger
      # One process consumes six partitions. Another one joins in mid-batch, while a long unit runs on a partition that
      # moves to it, and leaves again. Used by the tests and by `bin/bench rebalance`.
      class Rebalance
        PARTITIONS = 6
        # librdkafka's settings, and how long the unit takes: with eager there are five seconds to drain everything.
        PROTOCOLS = {
          "eager" => [{"partition.assignment.strategy": "range"}, 3_000],
          "cooperative" => [{"partition.assignment.strategy": "cooperative-sticky"}, 5_000],
          "KIP-848" => [{"group.protocol": "consumer"}, 5_000]
        }.freeze
        CLASSIC = {"session.timeout.ms": 10_000, "heartbeat.interval.ms": 500}.freeze

        attr_reader :scenario, :first, :second

        # @param scenario [Scenario] with one topic of six partitions
        # @param protocol [String] a key of PROTOCOLS
        def initialize(scenario, protocol)
          @scenario = scenario
          @kafka, @unit_ms = PROTOCOLS.fetch(protocol)
        end

        # Partitions 0 and 5 get a unit that takes long; with any assignor one of them moves. The second process has
        # booted by then, and joins while they run.
        def run
          begin_logs
          @first = start
          @scenario.wait_for(@first, "A", 40) { |entry| entry.partition == 5 }
          @scenario.feeding(0.01) do
            @scenario.wait_for(@first, "E", 40)
            @second = start(gate: gate = File.join(@scenario.dir, "gate"))
            @scenario.wait_for(@second, "P", 40)
            begin_long_units
            FileUtils.touch(gate)
            second_works_and_leaves
          end
          @scenario.wait_for_all
          @scenario.stop(@first)
          self
        end

        # @return [Boolean] whether a partition was revoked while its long unit ran
        def overlapped?
          runs = @first.entries.select { |entry| entry.kind == "L" }
          taken.any? do |partition|
            long = runs.find { |entry| entry.partition == partition } or next
            asked = @first.entries.find { |entry| entry.kind == "R" && entry.partition == partition }
            asked ? asked.at.between?(long.at, long.at + @unit_ms) : false
          end
        end

        # @return [Array<Integer>] partitions assigned to the second process
        def taken = @second.entries.select { |entry| entry.kind == "A" }.map(&:partition)

        # @return [Array<Integer>] partitions that stay, except those with long units
        def staying = (0...PARTITIONS).to_a - taken - [0, PARTITIONS - 1]

        # @return [Hash{Integer => Integer}] the longest time without an end on each partition that stays, in ms
        def gaps = staying.to_h { |partition| [partition, pauses(partition).map { |from, to| to - from }.max.round] }

        # @return [Integer] the longest of those pauses that begin at least half a second after any rebalance event: the
        #   pauses that the machine itself causes
        def calm_gap
          happened = [@first, @second].flat_map(&:entries).select { |entry| %w[P A R G X].include?(entry.kind) }.map(&:at)
          calm = staying.flat_map { |partition| pauses(partition) }.reject do |from, to|
            happened.any? { |at| at.between?(from - 500, to) }
          end
          calm.map { |from, to| to - from }.max.to_f.round
        end

        private

        def start(**plan)
          kafka = @kafka.key?(:"group.protocol") ? @kafka : {**CLASSIC, **@kafka}
          @scenario.start(kafka: kafka, max_messages: 10, concurrency: PARTITIONS, **plan)
        end

        # Once a log has index.interval.bytes (4,096), the broker writes the first entry of its index: 55 ms per
        # partition on some file systems, one after the other, and it answers no request meanwhile. That should happen
        # before the round, not in it.
        def begin_logs
          @scenario.produce(PARTITIONS * 50, bytes: 100)
          @scenario.produce(PARTITIONS)
        end

        def begin_long_units
          [0, PARTITIONS - 1].each do |partition|
            @scenario.produce_one(partition, "idle:#{@unit_ms}")
            @scenario.wait_for(@first, "L", 40) { |entry| entry.partition == partition }
          end
        end

        def second_works_and_leaves
          @scenario.wait_for(@second, "A", 40)
          @scenario.wait_for(@second, "E", 40)
          @scenario.stop(@second)
          Wait.wait_until(40, "first has all again") { owned(@first).size == PARTITIONS }
        end

        # Runs while the second process is a member.
        def pauses(partition)
          from, to = @second.entries.first.at, @second.entries.last.at
          ends = @first.entries.select { |entry| entry.kind == "E" && entry.partition == partition }.map(&:at)
          [from, *ends.select { |at| at.between?(from, to) }, to].each_cons(2).to_a
        end

        def owned(worker)
          worker.entries.each_with_object([]) do |entry, list|
            list << entry.partition if entry.kind == "A"
            list.delete(entry.partition) if entry.kind == "G"
          end.uniq
        end
      end
    end
  end
end
