# frozen_string_literal: true

require_relative "../rate"

module Penstock
  module Processing
    module Division
      # Counts the records of each key of a lane, for `throttle per: :key`. A record is counted when it is handed out for the
      # first time: those of a key come in the order of their offsets, so those after the last counted offset are new. Retries
      # aren't counted again; records that were called back are, because the limit is about when records start.
      #
      # Keys that were idle for an interval are forgotten. Owned by its division.
      class KeyRates
        # The last counted offset of a key, and its rate.
        Key = Struct.new(:through, :rate)
        private_constant :Key

        # @param throttle [Routing::Throttle]
        def initialize(throttle)
          @throttle = throttle
          @keys = {}
          @tidy_at = nil
        end

        # @return [Integer] keys that are counted
        def size = @keys.size

        # @param offset [Integer] of the key's next record
        # @param now_ms [Integer] monotonic
        # @return [Integer, nil] monotonic ms until which the record has to wait
        def wait_until(key, offset, now_ms)
          known = @keys[key]
          return if known.nil? || offset <= known.through || known.rate.room(now_ms).positive?
          known.rate.next_room_ms
        end

        # @param messages [Array<#offset>] of the key, which run next
        # @param most [Integer]
        # @return [Integer] how many of them may run now
        def allowed(key, messages, most, now_ms)
          known = @keys[key]
          room = known ? known.rate.room(now_ms) : @throttle.limit
          counted = known ? messages.first(most).count { |message| message.offset <= known.through } : 0
          [most, counted + room].min
        end

        # @param messages [#each] of the key, handed out
        def count(key, messages, now_ms)
          known = @keys[key] ||= Key.new(-1, Rate.new(@throttle.limit, @throttle.interval))
          fresh = messages.count { |message| message.offset > known.through }
          return if fresh.zero?
          known.rate.count(fresh, now_ms)
          known.through = messages.last.offset
        end

        # Records from that offset on were handed out and haven't started.
        # @param offset [Integer]
        def not_started(key, offset)
          known = @keys[key] or return
          known.through = [known.through, offset - 1].min
        end

        # Forgets keys without a count, at most once per interval.
        # @yieldreturn [Boolean] whether a key has records left: a retry of them must not be counted again
        def tidy(now_ms)
          return if @tidy_at && now_ms < @tidy_at
          @tidy_at = now_ms + @throttle.interval
          @keys.delete_if { |key, known| known.rate.room(now_ms) == @throttle.limit && !yield(key) }
        end

        # The lane continues at another offset. That doesn't reset the limit.
        def reset = @keys.each_value { |known| known.through = -1 }
      end
    end
  end
end
