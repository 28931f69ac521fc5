# frozen_string_literal: true

require_relative "../../clock"

module Penstock
  module Testing
    module Memory
      # The virtual time of a {World}, for all of its processes: it passes only as the timeline's events run.
      class Clock < Penstock::Clock
        # @param timeline [Kafka::Timeline]
        # @param epoch_ms [Integer] wall time, in ms since 1970, when the timeline is at 0
        def initialize(timeline, epoch_ms:)
          super()
          @timeline = timeline
          @epoch_ms = epoch_ms
        end

        def monotonic_ms = @timeline.now
        def monotonic_us = @timeline.now * 1_000
        def wall_ms = @epoch_ms + @timeline.now
      end
    end
  end
end
