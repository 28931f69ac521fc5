# frozen_string_literal: true

module Penstock
  module Runtime
    # Emits `consumer.unmarked` when a consumer with manual offsets has forgotten to mark: calls of `consume` have ended, and for
    # minutes none of their records was marked. Nothing is committed then, and after a restart everything comes again. Once per
    # topic and connection. Where keys run in parallel the window fills instead (`partition.window_full`).
    #
    # A part of {StallMonitor}; runs on the poll loop's thread.
    class UnmarkedRecords
      LIMIT_MS = 300_000

      # @param connection [ConnectionState]
      def initialize(connection)
        @connection = connection
        @since = {}.compare_by_identity
        @reported = {}
      end

      # @param lane [Processing::Lane]
      # @param units [Array<Processing::Unit>] its running units
      # @param now [Integer] monotonic ms
      def check(lane, units, now)
        return unless lane.topic.manual_offset_management? && !lane.by_key? && !@reported[lane.topic_name]
        base = lane.ledger.base
        return @since.delete(lane) unless forgotten?(lane, units, base)
        from, since = @since[lane]
        return @since[lane] = [base, now] unless from == base
        report(lane, base, now - since) if now - since >= LIMIT_MS
      end

      # @param lanes [Array<Processing::Lane>] those that still exist
      def keep(lanes)
        return if @since.empty?
        known = lanes.to_h { |lane| [lane, true] }.compare_by_identity
        @since.delete_if { |lane, _since| !known.key?(lane) }
      end

      private

      # Whether the unit of the first incomplete record has ended.
      def forgotten?(lane, units, base)
        lane.ledger.known? && lane.holds.open? && lane.redelivery.anything_to_request? &&
          units.none? { |unit| !unit.messages.empty? && unit.messages.first_offset <= base }
      end

      def report(lane, base, waited_ms)
        @reported[lane.topic_name] = true
        @connection.emit("consumer.unmarked", {topic: lane.topic_name, partition: lane.partition, offset: base,
          waited_ms: waited_ms, place: place(lane.topic.features[:consumer])})
      end

      def place(consumer)
        file, line = consumer.instance_method(:consume).source_location
        "#{consumer}#consume#{" (#{file}:#{line})" if file}"
      end
    end
  end
end
