# frozen_string_literal: true

require_relative "../harness/workload"

module Bench
  # The effect on partitions that stay when another process joins the group, and leaves it again, while a long unit runs
  # on a partition that moves. The longest gap without any rebalance, and the longest in what was sent, are reported
  # too: both are caused by the machine.
  class Rebalance < Workload
    NAME = "REBALANCE"
    TITLE = "100 records/s in each of 6 partitions; a process joins during a unit of 5 s (eager: 3 s) on a partition it gets, " \
            "and leaves; the longest gap of those that stay, 5 rounds a run"
    ROUNDS = 5
    # Eager revokes everything and waits for the unit; its gap is that of the unit and half a second.
    TARGETS_MS = {"eager" => 3_500, "cooperative" => 150, "KIP-848" => 150}.freeze

    def columns = %w[p50_ms max_ms calm_ms fed_gap_ms twice lost]

    def sides
      TARGETS_MS.keys.map do |protocol|
        Side.new(name: protocol, kind: :ours, settings: {}, measure: -> { measure(protocol) })
      end
    end

    def figures(results)
      TARGETS_MS.flat_map do |protocol, target|
        gaps = values(results, protocol, "gaps_ms").compact.flatten
        [at_most("#{protocol}, p50", gaps, target, "ms"), at_most("#{protocol}, max", [gaps.max], target, "ms")]
      end
    end

    private

    def measure(protocol)
      rounds = Array.new(options.quick ? 1 : ROUNDS) do
        RubySide.run("penstock/rebalance.rb", {bootstrap: broker.bootstrap, group: group, protocol: protocol})
      end
      gaps = rounds.map { |round| round["gap_ms"] }
      {"p50_ms" => Statistics.median(gaps), "max_ms" => gaps.max, "gaps_ms" => gaps,
       **%w[calm_ms fed_gap_ms twice lost].to_h { |name| [name, rounds.map { |round| round[name] }.max] }}
    end
  end
end
