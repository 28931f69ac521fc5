# frozen_string_literal: true

require_relative "../../processing/failure/message"

module Penstock
  module CLI
    module Dead
      # One dead letter as the commands show it: its own place, where it came from, why. Immutable.
      class Letter
        # The end of the year 9999.
        LAST_MS = 253_402_300_799_999
        private_constant :LAST_MS

        # @return [Message]
        attr_reader :record

        # @param record [Message] of a dead letter topic
        # @param handled [Boolean] whether it was replayed or dropped before
        def initialize(record, handled: false)
          @record = record
          @handled = handled
          @source = Processing::Failure::Provenance.read(record.raw_headers)
        end

        # @return [Processing::Failure::Provenance::Source, nil] nil for a message that doesn't say where it came from
        attr_reader :source

        def handled? = @handled
        def partition = @record.partition
        def offset = @record.offset

        # @return [Integer] ms since 1970: when it failed, as far as that is known
        def failed_at = @source&.failed_at || @record.timestamp_ms

        # @return [Integer] how often it was sent back
        def replays = Processing::Failure::Message.replays(@record)

        # @return [Array<String>] what was left out of it because it was too large: "payload", "headers", "key"
        def omitted = @source&.omitted || []

        # @return [Boolean] whether it is whole only together with the record it came from
        def reference? = omitted.any?

        # @return [String] where it came from
        def origin = @source ? [@source.topic, @source.partition, @source.offset].compact.join("/") : "-"

        # @return [Hash] plain values
        def to_h
          {topic: @record.topic, partition: partition, offset: offset, handled: handled?, replays: replays,
           failed_at: time, source: @source&.to_h&.compact}
        end

        # @return [String] ISO 8601, UTC; a dash where it isn't known, or is no time a clock shows
        def time
          return "-" unless failed_at.between?(1, LAST_MS)

          Time.at(0, failed_at, :millisecond).utc.strftime("%Y-%m-%dT%H:%M:%S.%LZ")
        end
      end
    end
  end
end
