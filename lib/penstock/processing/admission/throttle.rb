# frozen_string_literal: true

require_relative "../rate"

module Penstock
  module Processing
    module Admission
      # Implements `throttle`: admits at most `limit` records of the lane within any `interval` ms. When they are used up the
      # lane is held until the first of them are that old; a burst is then admitted again as a whole.
      #
      # Counts records that are admitted for the first time; retries wait their back-off instead. With `per: :key` the lane isn't
      # held, but keys are parked ({Division::ThrottledByKey}).
      #
      # One per lane, called on its poll loop. A new assignment begins at zero.
      class Throttle
        REASON = :throttle

        # @param limit [Integer]
        # @param interval_ms [Integer]
        def initialize(limit, interval_ms)
          @rate = Rate.new(limit, interval_ms)
        end

        # @param selection [Selection] already narrowed by all other steps: the records that are left are counted
        # @return [Integer, nil] position of the first record that waits
        def call(selection, now_ms, _wall_ms)
          allowed = @rate.room(now_ms)
          counted = selection.each_counted_position.first(allowed + 1)
          position = counted[allowed]
          @rate.count([counted.size, allowed].min, now_ms)
          return unless position
          selection.wait_from(position)
          selection.hold_until(REASON, @rate.next_room_ms)
          position
        end

        def recheck? = false

        # A seek doesn't reset the limit.
        def reset = nil
      end
    end
  end
end
