# frozen_string_literal: true

require_relative "../poison"

module Penstock
  module TestSupport
    module Poison
      # One row of the table that bin/poison prints: a run, the run it is compared with, and whether it kept the rules.
      class Row
        WIDTHS = [44, 11, 8, 16, 10, 8, 14, 5, 30].freeze
        # How records are processed, in the order of the table.
        NAMES = {key: "by key", retry_by_key: "retry topics, by key", retry: "retry topics", order: "in order"}.freeze
        HEADING = ["run", "good done", "good/s", "of rate alone", "letters", "attempts", "held, longest", "load", "rules"]
          .zip(WIDTHS).map { |text, width| text.ljust(width) }.join(" ").freeze
        # Share of their rate that good records keep next to bad ones; none where bad records can't be distinguished
        # from an outage.
        LEAST_SHARE = 0.8
        # In order: the time that bad records may take, as a multiple of the time for which their retries wait.
        MOST_COST = 1.3
        # Dead letters of an outage that begins with errors of no known class, in order: with fewer than ten partitions
        # the first failures can't be distinguished from bad records (docs/errors.md, "What it can't know").
        FIRST_FAILURES = 9
        # How much longer than its limit a hold may last until a busy loop notices it.
        TOLERANCE_MS = 1_000
        private_constant :LEAST_SHARE, :MOST_COST, :FIRST_FAILURES, :TOLERANCE_MS

        # @param mode [Symbol]
        # @param what [Integer, Class] percent of bad records, or the error of an outage
        # @param result [Result]
        # @param alone [Result, nil] the same without bad records
        # @param limit_ms [Integer, nil] of a hold
        def initialize(mode, what, result, alone, limit_ms)
          @mode = mode
          @what = what
          @result = result
          @alone = alone
          @limit_ms = limit_ms
          @load = Float(File.read("/proc/loadavg").split.first)
        rescue SystemCallError
          @load = nil
        end

        # @return [Boolean] whether it kept all rules
        def right? = broken.empty?

        # @return [Boolean] whether it broke no rule except that of the rate
        def only_slow? = broken == ["too slow"]

        def to_s
          [name, "#{@result.done.size}/#{@result.good}", rate, share,
            "#{@result.letters.uniq.size}/#{outage? ? unknowing : @result.runs.size}", attempts.join("–"), held, load,
            right? ? "kept" : broken.join("; ")]
            .zip(WIDTHS).map { |text, width| text.to_s.ljust(width) }.join(" ").rstrip
        end

        private

        def name = "#{NAMES.fetch(@mode)}, #{outage? ? "outage (#{@what})" : "#{@what} % bad"}"
        def rate = (outage? || @result.good.zero?) ? "–" : @result.rate.round
        def outage? = @what.is_a?(Class)

        # A share below the one at which breakers open: neither held nor slowed down.
        def few? = !outage? && @what < 50

        # The load of the machine: on a busy one each wait takes longer.
        def load = @load || "–"

        def attempts = @result.runs.values.minmax.compact.uniq

        def share
          return "–" unless @alone && @result.good.positive?
          rate = "#{(100 * @result.rate / @alone.rate).round} %"
          (@mode == :order && few?) ? "#{rate} (#{cost.round(2)} ×)" : rate
        end

        # @return [Float] time that bad records took in order, as a multiple of the time for which their retries wait
        def cost
          expected = @alone.seconds * @result.good / @alone.good
          (@result.seconds - expected) / @result.retries_s(Command::PARTITIONS)
        end

        def longest_ms = @result.closed.map { |event| event[:held_ms] }.max.to_i
        def held = @result.opened.empty? ? "0" : "#{@result.opened.size}, #{longest_ms} ms"

        def broken
          @broken ||= {
            "good records missing" => @result.done.size + unknowing < @result.good,
            "dead letters of an outage" => outage? && @result.letters.size > unknowing,
            "dead letters missing or doubled" => !outage? && @result.letters.sort != @result.runs.keys.sort,
            "attempts differ" => few? && (attempts - [ATTEMPTS]).any?,
            "held" => few? && @result.opened.any?,
            "not held" => outage? && @result.opened.empty?,
            "held too long" => @limit_ms && longest_ms > @limit_ms + TOLERANCE_MS,
            "too slow" => few? && slow?
          }.select { |_rule, broken| broken }.keys
        end

        # @return [Integer] dead letters of good records, at most {FIRST_FAILURES}
        def unknowing
          return 0 unless outage? && @mode == :order && @what != Errno::ECONNREFUSED
          [@result.letters.uniq.size, FIRST_FAILURES].min
        end

        def slow?
          return false unless @alone
          (@mode == :order) ? cost > MOST_COST : @result.rate < LEAST_SHARE * @alone.rate
        end
      end
    end
  end
end
