# frozen_string_literal: true

module Penstock
  module Processing
    module Admission
      # The wall clock for judging a record's age. A clock that jumps ahead isn't trusted until `window_ms` have passed on the
      # monotonic clock; one that is set back is trusted at once. So a jump neither admits a record early nor drops one, and the
      # clock is trusted again within the time that a record may wait anyway.
      #
      # After a suspend of the machine the clock seems to have been set ahead: records are then late by at most `window_ms`.
      class CautiousClock
        # @param window_ms [Integer]
        def initialize(window_ms)
          @window_ms = window_ms
          @offset = nil
          @ahead_since = nil
        end

        # @param now_ms [Integer] monotonic
        # @param wall_ms [Integer] since the epoch
        # @return [Integer] ms since the epoch to compare with, never later than the wall clock
        def call(now_ms, wall_ms)
          offset = wall_ms - now_ms
          if @offset.nil? || offset <= @offset
            trust(offset)
          elsif @ahead_since.nil?
            @ahead_since = now_ms
          elsif now_ms - @ahead_since >= @window_ms
            trust(offset)
          end
          now_ms + @offset
        end

        private

        def trust(offset)
          @offset = offset
          @ahead_since = nil
        end
      end
    end
  end
end
