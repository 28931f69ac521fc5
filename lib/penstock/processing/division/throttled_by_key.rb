# frozen_string_literal: true

require_relative "by_key"
require_relative "key_rates"

module Penstock
  module Processing
    module Division
      # Implements `throttle per: :key`: as {ByKey}, with a limit of records of one key per interval. A key that has used up its
      # limit is parked (`:throttle`) until there is room, and the other keys continue. Every key in the queue of ready ones has
      # room for at least one record. Owned by its lane.
      class ThrottledByKey < ByKey
        REASON = :throttle

        # @param throttle [Routing::Throttle]
        # @param clock [Clock]
        # @param options as for {ByKey}
        def initialize(throttle:, clock:, **options)
          @rates = KeyRates.new(throttle)
          @clock = clock
          super(**options)
        end

        # Records that were called back before they started are counted when they start.
        def put_back(units)
          units.each { |unit| @rates.not_started(unit.key, unit.messages.first_offset) if unit.attempt == 1 }
          super
        end

        # Records that have been counted needn't wait. Others may come before a key's first record that is ready: whether the key
        # has room is looked at again.
        def requeue(key, messages, again: true)
          return if messages.empty?
          resume(key)
          run = @runs[key] and @ready.delete(run)
          super
        end

        # @return [Symbol, nil] as {ByKey#full}; `:throttle` where keys that wait for their limit have filled most of the window:
        #   few records of other keys are found then
        def full(lane)
          reason = super
          return reason if reason == :metadata || !lane.open? || lane.ledger.incomplete * 4 < window_records * 3
          waiting = @runs.each_value.any? { |run| run.parked == REASON }
          waiting ? REASON : reason
        end

        def clear
          super
          @rates.reset
        end

        private

        def insert(key, messages)
          resume(key)
          super
        end

        def resume(key)
          run = @runs[key]
          return unless run&.parked == REASON
          @parking.delete(run)
          run.parked = nil
        end

        def enqueue(run)
          return if run.queued || !run.ready?
          at = @rates.wait_until(run.key, run.messages.first.offset, @clock.monotonic_ms)
          at ? park(run.key, REASON, at) : super
        end

        def cut(run, most, lane)
          now = @clock.monotonic_ms
          @rates.tidy(now) { |key| @runs.key?(key) }
          unit = super(run, @rates.allowed(run.key, run.messages, most, now), lane)
          @rates.count(run.key, unit.messages.records, now)
          unit
        end
      end
    end
  end
end
