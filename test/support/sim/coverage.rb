# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      # Counts how often each situation occurred for which the simulator exists. A required situation that occurred less
      # than a hundred times in a run of many seeds fails the run: it would prove nothing.
      class Coverage
        # Situations that must occur often even in a run of a minute.
        OFTEN = [
          "rebalance with units running", "lost with units running", "late outcome", "commit reply lost", "park + revoke",
          "dead letter pending + revoke", "adoption with map", "pressure stop", "seek with units running", "crash with suspects"
        ].freeze
        RARELY = [
          "rebalance: eager", "rebalance: cooperative", "rebalance: KIP-848",
          "revocation outlasted its drain", "commit refused", "commit late", "commit stored after the hand-over",
          "retry pending + revoke", "open breaker + revoke", "preparing + revoke", "dead letter", "dead letter: failed",
          "dead letter: queue full", "retry topic", "retry topic after another", "end of the retry topics",
          "record skipped", "quarantined", "breaker opened: share", "breaker opened: outage",
          "breaker closed: success", "breaker closed: limit", "bad record given up", "crash with a suspect alone",
          "dropped: filtered", "dropped: expired",
          "held by admission", "filter sought",
          "adoption with attempts", "metadata too large", "unstable offsets", "crash with units running",
          "process stopped past its session", "stop with units running", "stop during a rebalance", "unit interrupted",
          "connection reopened", "connection closed by scaling", "waits for another connection",
          "seek with units waiting", "seek with records before it", "repeats after a rebalance", "log cut",
          "retention passed the lane", "gap at the end", "compaction", "manual mode", "mark with acknowledgement",
          "rejoin as another member", "static member came back", "unit of several calls",
          "unit of several calls: failed after others", "unit of several calls: called back", "mark after its unit",
          "last message marked in a hook",
          "coordinator moved", "offsets read: reset", "offsets read: silent", "offsets read: late", "offsets read: twice",
          "offsets read: damaged", "offsets read: moved", "offsets read: elsewhere",
          "gathered records lost", "redelivered: in order", "redelivered: by key",
          "outcomes collected",
          "trouble in a transaction", "transaction: end not known", "transaction: late offsets",
          "transaction: read again", "transaction: no longer ours", "transaction committed after the hand-over",
          "hop: moved", "hop: arrived", "hop: set back", "hop: twice", "trouble in a hop"
        ].freeze
        # With users' code in fibers or processes, which one plan in twelve has: a third as often.
        ELSEWHERE = [
          "out of time", "pool: died with units", "pool: died with what it had not begun", "pool: called back",
          "pool: reply lost", "pool: reply lost + revoke", "pool: reply with marks + revoke", "pool: reply after an interrupt",
          "pool: killed out of reach", "pool: request after its unit", "fibers: several at once",
          "fibers: interrupted in a revocation"
        ].freeze
        REQUIRED = (OFTEN + RARELY + ELSEWHERE).freeze
        # Required hits; for the rare situations per that many seeds, and proportionally fewer for fewer seeds.
        LEAST = 100
        SEEDS = 10_000
        # With fewer seeds rare situations aren't required.
        ENOUGH = 1_000
        private_constant :LEAST, :SEEDS

        attr_reader :counts

        def initialize
          @counts = Hash.new(0)
        end

        def hit(row) = @counts[row] += 1

        def merge(other)
          other.counts.each { |row, count| @counts[row] += count }
        end

        # @param seeds [Integer] how many were run; with few of them rare situations aren't checked
        # @return [Array<String>] required rows that occurred too seldom
        def missing(seeds)
          least = (seeds < ENOUGH) ? 0 : [LEAST * seeds / SEEDS, LEAST].min
          OFTEN.select { |row| @counts[row] < LEAST } + RARELY.select { |row| @counts[row] < least } +
            ELSEWHERE.select { |row| @counts[row] < least / 3 }
        end

        # @param seeds [Integer] as {#missing}
        # @return [String, nil] of the required rows that occurred too seldom, the one that occurred least
        def scarcest(seeds) = missing(seeds).min_by { |row| @counts[row] }

        def to_s
          rows = (REQUIRED + @counts.keys.sort).uniq
          rows.map { |row|
            format("  %-42s %8d%s", row, @counts[row], REQUIRED.include?(row) ? "" : "  (not required)")
          }.join("\n")
        end
      end
    end
  end
end
