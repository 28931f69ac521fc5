# frozen_string_literal: true

module Penstock
  module Monitors
    class MetricsExporter
      # Lets something happen at most once in a time, whichever thread is first. Any thread.
      class Turns
        # @param interval_ms [Integer] shortest time between two turns
        # @param clock [#call] monotonic ms
        def initialize(interval_ms, clock)
          @interval_ms = interval_ms
          @clock = clock
          @lock = Mutex.new
          @began_at = nil
        end

        # @return [Boolean] whether a turn begins now; false: the last one began too short ago
        def begin_turn
          now = @clock.call
          @lock.synchronize do
            next false if @began_at && now - @began_at < @interval_ms
            @began_at = now
            true
          end
        end
      end
    end
  end
end
