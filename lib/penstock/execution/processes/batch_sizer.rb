# frozen_string_literal: true

module Penstock
  module Execution
    module Processes
      # Decides how many units a child may have at once, by how long units take: one if they are long, so that none waits for
      # another; two or more if sending a unit to the child and its outcome back takes a noticeable share of the time. A plain
      # value, one for each child.
      class BatchSizer
        # Work that a child should have queued.
        AHEAD_MS = 20.0
        # A unit that takes this long is sent alone.
        LONG_MS = 20.0
        MOST = 64
        # The limit while other children are idle: one unit that runs, one that waits.
        MOST_WHILE_OTHERS_IDLE = 2
        # The newest unit's share of the average.
        SHARE = 0.2
        private_constant :AHEAD_MS, :LONG_MS, :MOST, :MOST_WHILE_OTHERS_IDLE, :SHARE

        def initialize
          @average_ms = nil
          @depth = 1
        end

        # @return [Integer] units a child may have
        attr_reader :depth

        # @param time_ms [Float] how long a unit took
        def record_time(time_ms)
          @average_ms = @average_ms ? @average_ms + (time_ms - @average_ms) * SHARE : time_ms
          @depth = depth_for(@average_ms)
        end

        # @param count [Integer] units the child has
        # @param idle [Integer] other children that have nothing to do
        # @return [Boolean] whether it may have more
        def room?(count, idle) = count < (idle.positive? ? [@depth, MOST_WHILE_OTHERS_IDLE].min : @depth)

        # @return [Boolean] whether to send more now: small units are sent several at once, not one by one
        def refill?(count) = count <= @depth / 2

        private

        def depth_for(time_ms)
          return 1 if time_ms >= LONG_MS
          (AHEAD_MS / [time_ms, 0.001].max).ceil.clamp(2, MOST)
        end
      end
    end
  end
end
