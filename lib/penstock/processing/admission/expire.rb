# frozen_string_literal: true

require_relative "cautious_clock"

module Penstock
  module Processing
    module Admission
      # Implements `expire_in`: drops records older than that, which then count as complete. A record without a timestamp never
      # expires, and a wall clock that is set ahead doesn't drop records at once ({CautiousClock}).
      #
      # One per lane, called on its poll loop.
      class Expire
        # @param ttl_ms [Integer]
        def initialize(ttl_ms)
          @ttl_ms = ttl_ms
          @clock = CautiousClock.new(ttl_ms)
        end

        # @param selection [Selection]
        def call(selection, now_ms, wall_ms)
          oldest = @clock.call(now_ms, wall_ms) - @ttl_ms
          messages = selection.messages
          selection.each_position do |position|
            stamp = messages.timestamp_at(position)
            selection.drop(position) if stamp < oldest && !stamp.negative?
          end
        end

        # A record that waited for its next attempt may have expired meanwhile.
        def recheck? = true
        def reset = nil
      end
    end
  end
end
