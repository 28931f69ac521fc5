# frozen_string_literal: true

require_relative "../../errors"

module Penstock
  module Processing
    module Admission
      # Implements `parallel_segments`, which splits a group into several: each of them reads everything and drops records of the
      # other segments. A record whose segment can't be determined belongs to the first, so that exactly one group processes it;
      # each such record emits an event. The partitioner and the reducer are user code: called on workers only, within {Prepare}.
      class OwnSegment
        PARTITIONER_ERROR = "parallel_segments.partitioner.error"
        REDUCER_ERROR = "parallel_segments.reducer.error"
        FIRST = 0

        # Raised when the reducer returns something that isn't a segment: without an owner the record would be lost.
        class NoSegment < StandardError
          include Error
        end

        # @param segment [Routing::Segment]
        # @param place [Hash] topic and partition, for events
        def initialize(segment, place)
          @segment = segment
          @place = place
        end

        # @param selection [Selection]
        # @param undecodable [Hash] offsets for which the partitioner isn't called: their segment depends on their raw key
        def call(selection, undecodable)
          selection.each_position do |position|
            message = selection.messages[position]
            selection.drop(position) unless own?(message, selection, undecodable)
          end
        end

        private

        def own?(message, selection, undecodable) = segment_of(message, selection, undecodable) == @segment.id

        def segment_of(message, selection, undecodable)
          type = PARTITIONER_ERROR
          key = undecodable.key?(message.offset) ? message.raw_key : @segment.partitioner.call(message)
          type = REDUCER_ERROR
          checked(@segment.reducer.call(key))
        rescue DeserializationError
          raise
        rescue StandardError, ScriptError, SystemStackError => error
          selection.event("error.occurred", {**@place, type: type, error: error, offset: message.offset})
          FIRST
        end

        def checked(answer)
          return answer if answer.is_a?(Integer) && answer >= 0 && answer < @segment.count
          raise NoSegment, "the reducer must return an Integer from 0 to #{@segment.count - 1} (count - 1), " \
            "but returned #{answer.inspect[0, 40]}"
        end
      end
    end
  end
end
