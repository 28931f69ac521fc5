# frozen_string_literal: true

module Penstock
  module Instrumentation
    module Log
      # A histogram of durations of a fixed size: eight buckets per doubling, so a percentile is off by at most 7 %. Recording
      # allocates nothing. Not thread-safe.
      class CallTimes
        # Durations from 2**40 µs (12 days) on share the last bucket.
        DOUBLINGS = 40
        SIZE = DOUBLINGS * 8
        private_constant :DOUBLINGS, :SIZE

        # @return [Integer] recorded durations
        attr_reader :count

        def initialize
          @buckets = Array.new(SIZE, 0)
          @count = 0
          @longest = 0.0
        end

        # @param milliseconds [Float]
        def record(milliseconds)
          @count += 1
          @longest = milliseconds if milliseconds > @longest
          @buckets[index((milliseconds * 1_000).to_i)] += 1
        end

        # @param share [Float] 0.5 for the median
        # @return [Float] milliseconds; 0.0 if nothing was recorded
        def percentile(share)
          rest = (@count * share).ceil.clamp(1, nil)
          index = @buckets.index { |count| (rest -= count) <= 0 } || 0
          [middle(index) / 1_000.0, @longest].min
        end

        private

        # Below 8 µs a bucket is 1 µs wide. Above, the three bits after the highest one select the bucket of its doubling.
        def index(microseconds)
          return [microseconds, 0].max if microseconds < 8

          bits = microseconds.bit_length
          place = ((bits - 3) * 8) + ((microseconds >> (bits - 4)) & 7)
          (place < SIZE) ? place : SIZE - 1
        end

        # @return [Float] µs
        def middle(index)
          return index.to_f if index < 8

          shift = (index / 8) - 1
          (8 + (index % 8) + 0.5) * (1 << shift)
        end
      end
    end
  end
end
