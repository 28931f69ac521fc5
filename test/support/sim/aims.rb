# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      # The settings with which a plan causes a situation, by the coverage's name of it. A run with little CPU time ends
      # before chance has caused each often enough: then plans are drawn that aim at what is missing.
      module Aims
        SLOW = {slow_percent: 6, drain_ms: 700}.freeze
        KEYED = {mode: :key, keys: 20, max_messages: 3}.freeze
        LETTERS = {letters: 0, tiers: nil, letter_topic: "dead", fail_percent: 8, breaker: nil}.freeze
        SMALL = {killer: nil, budget: 36, burst_ms: 600, partitions: 3, records: 50}.freeze
        POOL = {run_on: :processes, calls: false, partitioner: false, pool_trouble: 30, slow_percent: 6, drain_ms: 200,
                mark_percent: 40, time_limit: 400}.freeze
        FIBERS = {run_on: :fibers, interruptible: true, slow_percent: 15, drain_ms: 200}.freeze
        QUICK = {quick: true, mode: :whole, manual: false, breaker: nil, batch: nil, expire_ms: nil, delay_ms: nil, throttle: nil,
                 budget: nil, max_messages: 1, records: 120, burst_ms: 1_500, slow_percent: 2, fail_percent: 12,
                 poison_percent: 5, topics: 1, partitions: 3, run_on: nil, tiers: nil, time_limit: nil}.freeze
        # Records that always fail, consumers that forget, late marks, a policy that continues at the end, and delay topics are
        # drawn only for plans that fit them. A plan that an aim has changed may not fit: it may seek, or run in processes.
        PLAIN = {bad_every: nil, bad_keys: false, calm: false, forgets: nil, late: false, to_end: false, hops: nil}.freeze
        # The plan's values, and its first faults: their kind, value and number.
        PLANS = {
          "rebalance with units running" => [SLOW, [:shuffle, nil], 3],
          "lost with units running" => [SLOW, [:ambush, :job], 3],
          "late outcome" => [SLOW.merge(drain_ms: 200), [:ambush, :job], 3],
          "commit reply lost" => [{commit_interval_ms: 200}, [:commit, :unanswered], 3],
          "park + revoke" => [{fail_percent: 8, **KEYED}, [:ambush, :failure], 3],
          "dead letter pending + revoke" => [{letter_trouble: 80, **LETTERS}, [:ambush, :letter], 3],
          "adoption with map" => [{**SLOW, **KEYED}, [:shuffle, nil], 3],
          "pressure stop" => [{**SMALL, **SLOW, **KEYED}, [:shuffle, nil], 1],
          "seek with units running" => [SLOW, [:ambush, :seek], 3],
          "seek with records before it" => [{seek_percent: 12, fail_percent: 8, **SLOW, **KEYED}, [:seek, 50], 0],
          "crash with suspects" => [{killer: 3, budget: nil, partitions: 3, commit_interval_ms: 200, **LETTERS},
            [:crash, 100], 3],
          "unit of several calls" => [QUICK, nil, 0],
          "unit of several calls: failed after others" => [QUICK, nil, 0],
          "unit of several calls: called back" => [QUICK, nil, 0],
          "retention passed the lane" => [SLOW, [:retention, 99], 3],
          **["pool: died with units", "pool: died with what it had not begun", "pool: called back", "pool: reply lost",
            "pool: reply lost + revoke", "pool: reply with marks + revoke", "pool: reply after an interrupt",
            "pool: killed out of reach", "out of time"].to_h { |row| [row, [POOL, [:ambush, :reply], 3]] },
          "pool: request after its unit" => [POOL, [:hold, 700], 3],
          "fibers: several at once" => [FIBERS, [:shuffle, nil], 1],
          "fibers: interrupted in a revocation" => [FIBERS, [:shuffle, nil], 3]
        }.freeze
        private_constant :SLOW, :KEYED, :LETTERS, :SMALL, :POOL, :FIBERS, :PLAIN

        # @param values [Hash] of a plan
        # @param aim [String] a row of the coverage
        # @return [Hash] what it is to be instead; the same where chance brings the row about often enough
        def self.take(values, aim)
          changes, (kind, value), times = PLANS.fetch(aim) { return values }
          faults = values[:faults].each_with_index.map do |fault, index|
            (index < times) ? Plan::Fault.new(fault.at, kind, fault.who, value) : fault
          end
          values.merge(transactions: false, **PLAIN, **changes, faults: faults)
        end
      end
    end
  end
end
