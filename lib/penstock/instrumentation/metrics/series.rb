# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Metrics
      # One series of a counter or of a histogram: its numbers. Not thread-safe: its callers have the lock of its {Family}.
      class Series
        # @return [Array<Numeric>] `[total]` of a counter; `[sum, count of the first bucket, …]` of a histogram, with one bucket
        #   more than {Metric#buckets} has limits, and no bucket counted in another
        attr_reader :numbers

        # @param limits [Array<Numeric>, nil] upper limits of the buckets of a histogram, the last one infinite; nil: a counter
        def initialize(limits = nil)
          @limits = limits
          @numbers = Array.new(1 + (limits ? limits.size : 0), 0)
        end

        # Adds to a counter, or observes a value in a histogram.
        # @param value [Numeric] a negative or infinite one is ignored: a counter never decreases
        # @return [void]
        def record(value)
          return unless value >= 0 && value.finite?
          numbers = @numbers
          numbers[0] += value
          limits = @limits or return
          bucket = 0
          bucket += 1 while value > limits[bucket]
          numbers[bucket + 1] += 1
        end

        # @param numbers [Array<Numeric>] of another series of the same metric
        # @return [void]
        def add(numbers)
          numbers.each_with_index { |number, index| @numbers[index] += number }
        end
      end
    end
  end
end
