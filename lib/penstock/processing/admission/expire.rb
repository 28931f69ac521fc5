# frozen_string_literal: true

require_relative "header_ms"

module Penstock
  module Processing
    module Admission
      # Implements `expire_in`: drops records older than that, which then count as complete. If expired records are sent to a
      # topic, they are admitted instead, without a delay and uncounted, and {#recheck} finds them before they are handed out. A
      # record without a timestamp never expires, and a wall clock that is set ahead doesn't drop records at once
      # ({CautiousClock}).
      #
      # One per lane, called on its poll loop.
      class Expire
        # How long a clock that was set ahead isn't trusted if the route has no time to live for all records.
        CAUTION_MS = 60_000
        private_constant :CAUTION_MS

        # @param expiry [Routing::ExpireIn]
        # @param clock [CautiousClock] the process's; one that is first read with a record would trust any time
        def initialize(expiry, clock)
          @ttl_ms = expiry.ttl_ms
          @own_ttl = HeaderMs.for(expiry.header)
          @letters = expiry.letters?
          @clock = clock
          @window_ms = @ttl_ms || CAUTION_MS
        end

        # @param selection [Selection]
        def call(selection, now_ms, wall_ms)
          each_expired(selection, now_ms, wall_ms) { |position| @letters ? selection.exempt(position) : selection.drop(position) }
        end

        # A record that waited for its next attempt may have expired meanwhile.
        def recheck? = true

        # @param selection [Selection] of records that were admitted: expired ones are dropped
        def recheck(selection, now_ms, wall_ms)
          each_expired(selection, now_ms, wall_ms) { |position| selection.drop(position) }
        end

        def reset = nil

        private

        def each_expired(selection, now_ms, wall_ms)
          wall_ms = @clock.call(now_ms, wall_ms, @window_ms)
          messages = selection.messages
          selection.each_position do |position|
            stamp = messages.timestamp_at(position)
            next if stamp.negative?

            ttl_ms = ttl_of(messages, position)
            yield position if ttl_ms && stamp < wall_ms - ttl_ms
          end
          nil
        end

        # Zero isn't a time to live: no sender means "never deliver this".
        def ttl_of(messages, position)
          own = @own_ttl&.call(messages, position)
          (own.nil? || own.zero?) ? @ttl_ms : own
        end
      end
    end
  end
end
