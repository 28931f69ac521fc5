# frozen_string_literal: true

module Penstock
  module Processing
    # Keeps the reasons why a lane is held: a set of names, each with the time it ends by itself (monotonic ms) or nil. The lane
    # is open when the set is empty, so that the end of one hold never ends another.
    class Holds
      # All reasons; a hold under another name is a bug in Penstock.
      REASONS = %i[opening previous_epoch other_connection user retry critical draining throttle delay window dead_letter prepare
        breaker filter pressure suspect instances insights transaction redelivery tick].freeze

      def initialize
        @due = {}
      end

      def open? = @due.empty?
      def include?(reason) = @due.key?(reason)
      def reasons = @due.keys

      # @return [Integer, nil] monotonic ms at which that reason ends by itself
      def due(reason) = @due[reason]

      # @return [Boolean] whether that reason is the only one
      def only?(reason) = @due.size == 1 && @due.key?(reason)

      # @param reason [Symbol] one of {REASONS}
      # @param at_ms [Integer, nil] monotonic time at which the hold ends by itself; nil: by {#release} only
      def add(reason, at_ms = nil)
        raise ArgumentError, "unknown hold #{reason.inspect}" unless REASONS.include?(reason)
        @due[reason] = at_ms
      end

      # @return [Boolean] whether the lane was held for that reason
      def release(reason)
        return false unless @due.key?(reason)
        @due.delete(reason)
        true
      end

      # @return [Integer, nil] monotonic ms at which the next hold ends by itself
      def next_due = @due.each_value.compact.min

      # @return [Array<Symbol>] reasons that have ended by now and were released
      def expire(now_ms)
        ended = @due.select { |_reason, at| at && at <= now_ms }.keys
        ended.each { |reason| @due.delete(reason) }
      end

      # @return [Hash{Symbol => Integer, nil}] for snapshots
      def to_h = @due.dup
    end
  end
end
