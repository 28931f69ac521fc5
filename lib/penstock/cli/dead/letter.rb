# frozen_string_literal: true

require_relative "../../processing/failure/message"

module Penstock
  module CLI
    module Dead
      # A dead letter as the commands show it: its own position, where it came from, and why. Immutable.
      class Letter
        # The end of the year 9999.
        LAST_MS = 253_402_300_799_999
        private_constant :LAST_MS

        # @return [Message]
        attr_reader :record

        # @param record [Message] of a dead letter topic
        # @param handled [Boolean] whether it has already been replayed or dropped
        def initialize(record, handled: false)
          @record = record
          @handled = handled
          @source = Processing::Failure::Provenance.read(record.raw_headers)
        end

        # @return [Processing::Failure::Provenance::Source, nil] nil if the message doesn't name its source
        attr_reader :source

        def handled? = @handled
        def partition = @record.partition
        def offset = @record.offset

        # @return [Integer] ms since 1970: the time of the failure, as far as it is known
        def failed_at = @source&.failed_at || @record.timestamp_ms

        # @return [Integer] number of replays
        def replays = Processing::Failure::Message.replays(@record)

        # @return [Array<String>] parts left out because it was too large: "payload", "headers", "key"
        def omitted = @source&.omitted || []

        # @return [Boolean] whether it is complete only together with its source record
        def reference? = omitted.any?

        # @return [String] its source
        def origin = @source ? [@source.topic, @source.partition, @source.offset].compact.join("/") : "-"

        # @return [Hash] plain values
        def to_h
          {topic: @record.topic, partition: partition, offset: offset, handled: handled?, replays: replays,
           failed_at: time, source: @source&.to_h&.compact}
        end

        # @return [String] ISO 8601, UTC; a dash if the time is unknown or out of range
        def time
          return "-" unless failed_at.between?(1, LAST_MS)

          Time.at(0, failed_at, :millisecond).utc.strftime("%Y-%m-%dT%H:%M:%S.%LZ")
        end
      end
    end
  end
end
