# frozen_string_literal: true

module Penstock
  module Processing
    module Admission
      # Remembers when the records of a lane were first checked, so that a step can limit their wait by the monotonic clock.
      # Records checked together have one entry; entries end with their records.
      #
      # One per step that makes records wait, used on the lane's poll loop.
      class FirstSeen
        def initialize
          @seen = []
        end

        # @param messages [Messages] that are checked now: the head of what waits
        # @param now_ms [Integer] monotonic
        def look(messages, now_ms)
          @seen.shift while @seen.any? && @seen.first.first < messages.first_offset
          last = messages.last_offset
          @seen << [last, now_ms] if @seen.empty? || @seen.last.first < last
        end

        # @param offset [Integer] of a record that was looked at
        # @return [Integer] monotonic ms
        def at(offset) = @seen.find { |last, _at| last >= offset }.last

        # The lane continues at another offset: times noted before don't apply to the next records.
        def reset = @seen.clear
      end
    end
  end
end
