# frozen_string_literal: true

require_relative "../cautious_clock"

module Penstock
  module Delays
    # Determines how long a message has to wait, with a wall clock that may be set: after a jump ahead a message is looked at
    # again soon instead of being delivered. Small corrections, and the rounding of two clocks, count as no jump.
    #
    # One per consumer, called by the worker that runs it.
    class HopClock
      # How long a clock that was set ahead isn't trusted.
      CAUTION_MS = 60_000
      JUMP_MS = 1_000
      private_constant :CAUTION_MS, :JUMP_MS

      # @param clock [Clock]
      # @param cautious [CautiousClock] the process's, read regularly
      def initialize(clock, cautious)
        @clock = clock
        @cautious = cautious
      end

      # @return [Integer] ms since 1970: the time from which {#left_ms} counts
      def wall_ms
        wall, trusted = look
        jumped?(wall, trusted) ? trusted : wall
      end

      # @param due_ms [Integer] ms since 1970
      # @return [Integer] ms; not positive: it is due
      def left_ms(due_ms)
        wall, trusted = look
        return due_ms - wall if due_ms <= trusted || !jumped?(wall, trusted)

        [due_ms - trusted, CAUTION_MS].min
      end

      private

      def jumped?(wall, trusted) = wall - trusted > JUMP_MS

      def look
        now = @clock.monotonic_ms
        wall = @clock.wall_ms
        [wall, @cautious.call(now, wall, CAUTION_MS)]
      end
    end
  end
end
