# frozen_string_literal: true

require "penstock/clock"

module Penstock
  module TestSupport
    module Sim
      # The time of a simulated world, for all of its processes.
      class Clock < Penstock::Clock
        EPOCH_MS = 1_700_000_000_000
        private_constant :EPOCH_MS

        # @return [Integer] how far the wall clock was moved
        attr_reader :jumped_ms

        # @param timeline [FakeKafka::Timeline]
        def initialize(timeline)
          super()
          @timeline = timeline
          @jumped_ms = @farthest_ms = 0
        end

        def jumped_ms=(by)
          @jumped_ms = by
          @farthest_ms = by if by > @farthest_ms
        end

        def monotonic_ms = @timeline.now
        def monotonic_us = @timeline.now * 1_000
        def wall_ms = true_ms + @jumped_ms

        # The clock of producers, which no fault moves.
        def true_ms = EPOCH_MS + @timeline.now

        # The latest time that any wall clock may have shown.
        def latest_ms = true_ms + @farthest_ms

        # Code that was given no clock and asks the machine's gets the world's while there is one.
        module Everywhere
          %i[monotonic_ms monotonic_us wall_ms].each do |name|
            define_method(name) { (instance_of?(Penstock::Clock) && World.current&.clock&.public_send(name)) || super() }
          end
        end
        Penstock::Clock.prepend(Everywhere)
      end
    end
  end
end
