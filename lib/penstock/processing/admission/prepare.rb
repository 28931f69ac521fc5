# frozen_string_literal: true

require_relative "filters"
require_relative "own_segment"
require_relative "partitioner"
require_relative "selection"

module Penstock
  module Processing
    module Admission
      # The result of {Prepare}: like {Run}, plus the error because of which nothing was admitted. `keys` are nil where division
      # needs none, or uses the keys of the records. `rest` is prepared again when the hold has ended. A frozen value.
      Prepared = Struct.new(:messages, :keys, :rest, :dropped, :hold, :seek_to, :events, :error, keyword_init: true) do
        # Extends the hold by the time that user code took, so that the lane waits for its full length after that.
        # @param took_ms [Integer]
        # @return [Prepared]
        def extend_hold(took_ms)
          reason, at = hold
          return self unless at && took_ms.positive?
          dup.tap { |later| later.hold = [reason, at + took_ms].freeze }.freeze
        end
      end

      # Runs the part of admission that is user code, on records that were taken: the segment's partitioner and reducer, the
      # route's own filters, then its partitioner.
      #
      # One per lane, for as long as it is assigned; called by workers, by one at a time and in the order of the records. An
      # error in user code admits nothing: the same records are prepared again after a back-off, with one error event each time.
      # Only errors that stop a process or a unit (`Interrupted`, `SystemExit`, …) are raised to the caller.
      #
      # A record that can't be deserialized mustn't stop the others forever: it bypasses filters and partitioner (by its raw
      # key) and fails in its consumer, like other failing records.
      class Prepare
        REASON = :prepare
        FILTER_ERROR = "filtering.error"
        PARTITIONER_ERROR = "virtual_partitions.partitioner.error"

        # @param topic [Routing::Topic]
        # @param topic_name [String]
        # @param partition [Integer]
        # @param backoff [Backoff]
        # @return [Prepare, nil] nil where the route has no such user code
        def self.for(topic, topic_name:, partition:, backoff:)
          place = {topic: topic_name, partition: partition}.freeze
          specs = topic.features[:filter] || []
          segment = topic.consumer_group.segment
          parts = {
            segment: segment && OwnSegment.new(segment, place), partitioner: Partitioner.for(topic.features[:parallel]),
            filters: specs.any? ? Filters.new(specs, topic: topic, place: place, default_ms: topic.pause.timeout) : nil
          }.compact
          new(**parts, place: place, backoff: backoff) unless parts.empty?
        end

        # @param place [Hash] topic and partition, for events
        # @param backoff [Backoff]
        # @param segment [OwnSegment, nil] called first: records of another group's segment aren't passed to any other user code
        # @param filters [Filters, nil]
        # @param partitioner [Partitioner, nil]
        def initialize(place:, backoff:, segment: nil, filters: nil, partitioner: nil)
          @segment = segment
          @filters = filters
          @partitioner = partitioner
          @place = place
          @backoff = backoff
          @failures = 0
        end

        # @param messages [Messages]
        # @param now_ms [Integer] monotonic
        # @return [Prepared]
        def call(messages, now_ms)
          undecodable = {}
          begin
            @failing = FILTER_ERROR
            prepared(messages, now_ms, undecodable).tap { @failures = 0 }
          rescue StandardError, ScriptError, SystemStackError => error
            # Terminates: each retry bypasses one more record.
            retry if bypass(error, messages, undecodable)
            failed(error, messages, now_ms)
          end
        end

        private

        def prepared(messages, now_ms, undecodable)
          selection = Selection.new(messages)
          @segment&.call(selection, undecodable)
          @filters&.call(selection, now_ms, undecodable)
          @failing = PARTITIONER_ERROR
          keys = keys(selection, undecodable)
          run = selection.run
          dropped(run) unless run.dropped.empty?
          Prepared.new(messages: run.messages, keys: keys, rest: run.rest, dropped: run.dropped, hold: run.hold,
            seek_to: run.seek_to, events: run.events, error: nil).freeze
        end

        def keys(selection, undecodable)
          return unless @partitioner
          admitted = selection.each_position.map { |position| selection.messages[position] }
          @partitioner.call(admitted, undecodable) do |unstable|
            selection.event("error.occurred", {**@place, type: PARTITIONER_ERROR, error: unstable})
          end
        end

        def bypass(error, messages, undecodable)
          error = error.cause unless error.is_a?(DeserializationError)
          return false unless error.is_a?(DeserializationError) && own_partition?(error) && !undecodable.key?(error.offset)
          return false unless messages.offsets.include?(error.offset)
          undecodable[error.offset] = true
        end

        def own_partition?(error) = error.topic == @place[:topic] && error.partition == @place[:partition]

        def failed(error, messages, now_ms)
          @failures += 1
          event = {**@place, type: @failing, error: error, first_offset: messages.first_offset,
                             last_offset: messages.last_offset, failures: @failures}
          Prepared.new(messages: messages.slice(0, 0), keys: nil, rest: messages, dropped: [],
            hold: [REASON, now_ms + @backoff.delay_ms(@failures)], seek_to: nil, events: [["error.occurred", event]],
            error: error).freeze
        end

        def dropped(run)
          run.events << ["filtering.dropped", {**@place, count: run.dropped.size, first_offset: run.dropped.first,
                                                         last_offset: run.dropped.last, reason: "filtered"}]
        end
      end
    end
  end
end
