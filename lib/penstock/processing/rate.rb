# frozen_string_literal: true

module Penstock
  module Processing
    # Counts the records that began within any interval of a length, up to a limit. Counts are kept in entries of a fraction of
    # the interval, so that a few numbers are enough, however high the limit. Pure: the time is an argument. Owned by its user.
    class Rate
      ENTRIES = 32
      private_constant :ENTRIES

      # The records that began from `first_ms` to `last_ms`.
      Entry = Struct.new(:first_ms, :last_ms, :count)
      private_constant :Entry

      # @param limit [Integer]
      # @param interval_ms [Integer]
      def initialize(limit, interval_ms)
        @limit = limit
        @interval_ms = interval_ms
        @grain_ms = interval_ms / ENTRIES
        @entries = []
        @used = 0
      end

      # @param now_ms [Integer] monotonic
      # @return [Integer] how many may begin now
      def room(now_ms)
        @used -= @entries.shift.count while @entries.any? && @entries.first.last_ms + @interval_ms <= now_ms
        @limit - @used
      end

      # @param number [Integer] at most the room
      # @param now_ms [Integer] monotonic
      def count(number, now_ms)
        return if number.zero?
        @used += number
        last = @entries.last
        return @entries << Entry.new(now_ms, now_ms, number) if last.nil? || now_ms - last.first_ms > @grain_ms
        last.last_ms = now_ms
        last.count += number
      end

      # @return [Integer] monotonic ms at which there is more room: when the first ones are an interval old
      def next_room_ms = @entries.first.last_ms + @interval_ms
    end
  end
end
