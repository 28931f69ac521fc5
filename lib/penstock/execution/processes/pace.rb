# frozen_string_literal: true

module Penstock
  module Execution
    module Processes
      # How many units a child may have at once, by how long they take: one where they are long, so that none waits behind
      # another; two and more where the way to the child and back would count. A plain value, one a child.
      class Pace
        # Work a child should have at hand.
        AHEAD_MS = 20.0
        # From there on a unit is worth the way alone.
        LONG_MS = 20.0
        MOST = 64
        # As long as others have nothing to do: one that runs, one that waits.
        FAIR = 2
        # The newest unit's share of the average.
        SHARE = 0.2
        private_constant :AHEAD_MS, :LONG_MS, :MOST, :FAIR, :SHARE

        def initialize
          @average_ms = nil
          @depth = 1
        end

        # @return [Integer] units a child may have
        attr_reader :depth

        # @param time_ms [Float] what a unit took
        def took(time_ms)
          @average_ms = @average_ms ? @average_ms + (time_ms - @average_ms) * SHARE : time_ms
          @depth = depth_for(@average_ms)
        end

        # @param count [Integer] units the child has
        # @param idle [Integer] other children that have nothing to do
        # @return [Boolean] whether it may have more
        def room?(count, idle) = count < (idle.positive? ? [@depth, FAIR].min : @depth)

        # @return [Boolean] whether it is time to send more: small units in handfuls, not one by one
        def hungry?(count) = count <= @depth / 2

        private

        def depth_for(time_ms)
          return 1 if time_ms >= LONG_MS
          (AHEAD_MS / [time_ms, 0.001].max).ceil.clamp(2, MOST)
        end
      end
    end
  end
end
