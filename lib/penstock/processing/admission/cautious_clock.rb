# frozen_string_literal: true

module Penstock
  module Processing
    module Admission
      # The wall clock as records may be judged by: one that is set ahead isn't believed before `window_ms` have passed on the
      # monotonic clock, one that is set back is believed at once. So a clock that jumps lets no record in early and throws none
      # away, and one that stands right after a correction is believed again in the time a record may wait anyway.
      #
      # A machine that slept looks like a clock that was set ahead: for that long, records are late.
      class CautiousClock
        # @param window_ms [Integer]
        def initialize(window_ms)
          @window_ms = window_ms
          @offset = nil
          @ahead_since = nil
        end

        # @param now_ms [Integer] monotonic
        # @param wall_ms [Integer] since the epoch
        # @return [Integer] ms since the epoch to judge by, never later than the wall clock
        def call(now_ms, wall_ms)
          offset = wall_ms - now_ms
          if @offset.nil? || offset <= @offset
            believe(offset)
          elsif @ahead_since.nil?
            @ahead_since = now_ms
          elsif now_ms - @ahead_since >= @window_ms
            believe(offset)
          end
          now_ms + @offset
        end

        private

        def believe(offset)
          @offset = offset
          @ahead_since = nil
        end
      end
    end
  end
end
