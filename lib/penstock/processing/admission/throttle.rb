# frozen_string_literal: true

module Penstock
  module Processing
    module Admission
      # Implements `throttle`: admits at most `limit` records of the lane within any `interval` ms. When they are used up the
      # lane is held until the first of them are that old; a burst is then admitted again as a whole.
      #
      # Counts records that are admitted for the first time; retries wait their back-off instead. Counts are kept in entries of
      # a fraction of the interval, so that a lane needs only a few numbers, however high the limit.
      #
      # One per lane, called on its poll loop. A new assignment begins at zero.
      class Throttle
        REASON = :throttle
        ENTRIES = 32
        private_constant :ENTRIES

        # Records that were admitted from `first_ms` to `last_ms`.
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

        # @param selection [Selection] already narrowed by all other steps: the records that are left are counted
        # @return [Integer, nil] position of the first record that waits
        def call(selection, now_ms, _wall_ms)
          forget(now_ms)
          allowed = @limit - @used
          position = selection.each_position.first(allowed + 1)[allowed]
          count([selection.size, allowed].min, now_ms)
          return unless position
          selection.wait_from(position)
          selection.hold_until(REASON, @entries.first.last_ms + @interval_ms)
          position
        end

        def recheck? = false

        # A seek doesn't reset the limit.
        def reset = nil

        private

        def forget(now_ms)
          @used -= @entries.shift.count while @entries.any? && @entries.first.last_ms + @interval_ms <= now_ms
        end

        def count(number, now_ms)
          return if number.zero?
          @used += number
          last = @entries.last
          return @entries << Entry.new(now_ms, now_ms, number) if last.nil? || now_ms - last.first_ms > @grain_ms
          last.last_ms = now_ms
          last.count += number
        end
      end
    end
  end
end
