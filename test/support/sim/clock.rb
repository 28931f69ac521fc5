# frozen_string_literal: true

require "penstock/testing/memory/clock"

module Penstock
  module TestSupport
    module Sim
      # The time of a simulated world, for all of its processes.
      class Clock < Testing::Memory::Clock
        EPOCH_MS = 1_700_000_000_000
        private_constant :EPOCH_MS

        # @return [Integer] how far the wall clock was moved
        attr_reader :jumped_ms

        # @param timeline [Testing::Memory::Kafka::Timeline]
        def initialize(timeline)
          super(timeline, epoch_ms: EPOCH_MS)
          @jumped_ms = @farthest_ms = 0
        end

        def jumped_ms=(by)
          @jumped_ms = by
          @farthest_ms = by if by > @farthest_ms
        end

        # The clock of producers, which no fault moves.
        alias_method :true_ms, :wall_ms

        def wall_ms = true_ms + @jumped_ms

        # The latest time that any wall clock may have shown.
        def latest_ms = true_ms + @farthest_ms
      end
    end
  end
end
