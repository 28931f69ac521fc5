# frozen_string_literal: true

module Penstock
  module TestSupport
    module Sim
      # How often the situations came up that the simulator is there for. A required one that came up less than a hundred times
      # in a run of many seeds makes the run red: it would prove nothing.
      class Coverage
        REQUIRED = [
          "rebalance: eager", "rebalance: cooperative", "rebalance: KIP-848",
          "revocation with units running", "revocation over its drain", "lost with units running", "late outcome",
          "commit reply lost", "commit refused", "commit late", "commit stored after the hand-over", "retry pending + revocation",
          "adoption with attempts", "metadata too large", "unstable offsets", "crash with units running",
          "process stopped past its session", "stop with units running", "stop during a rebalance", "unit interrupted",
          "connection opened anew", "seek with units waiting", "repeats after a rebalance", "log cut",
          "retention passed the lane", "gap at the end", "compaction", "manual mode", "mark with acknowledgement",
          "rejoin as another member"
        ].freeze
        # Hits in so many seeds; of fewer, as many fewer.
        LEAST = 100
        SEEDS = 10_000
        private_constant :LEAST, :SEEDS

        attr_reader :counts

        def initialize
          @counts = Hash.new(0)
        end

        def hit(row) = @counts[row] += 1

        def merge(other)
          other.counts.each { |row, count| @counts[row] += count }
        end

        # @param seeds [Integer] how many were run
        # @return [Array<String>] required rows that came up too seldom
        def missing(seeds)
          least = [LEAST * seeds / SEEDS, LEAST].min
          REQUIRED.select { |row| @counts[row] < least }
        end

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
