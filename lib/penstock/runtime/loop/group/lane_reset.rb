# frozen_string_literal: true

module Penstock
  module Runtime
    # Starts lanes again from the group's committed offset when their ledger can't be trusted any more: it isn't known whether a
    # transaction that carried their offset was committed, the member has a new id, or the source began elsewhere. Part of
    # {OffsetLookup}; runs on the poll loop's thread.
    #
    # While a lane is *doubtful*, it hands nothing out, no transaction may carry its offset, and nothing is committed for it. That
    # ends with the group's answer; if there was a seek in the meantime, the lane continues at the seek's target. The state is
    # removed with its lane.
    class LaneReset
      # State of one lane: where it begins if the group has no offset, its untrusted incarnation, callbacks for the answer, and
      # where its source began, if it is read again because of that.
      Reading = Struct.new(:base, :incarnation, :waiting, :place)
      private_constant :Reading

      # @param connection [ConnectionState]
      # @param committer [Committer]
      # @param decode [#call] decodes the metadata of an offset: `call(lane, offset, metadata, unclean)`
      def initialize(connection, committer, decode)
        @connection = connection
        @committer = committer
        @decode = decode
        @readings = {}.compare_by_identity
      end

      # Makes the lane doubtful. Queued units are called back at once: their outcomes wouldn't count, and their records would run
      # again.
      # @param lane [Processing::Lane]
      # @param base [Integer] where it begins if the group has no offset
      # @param waiting [#call, nil] called with the answer
      # @param place [Integer, nil] where its source began, if nothing was taken because of that
      # @return [Boolean] whether the group is to be asked; false where the lane was doubtful already and the request is in
      #   flight
      def add(lane, base, waiting: nil, place: nil)
        if (reading = @readings[lane])
          reading.waiting.concat([*waiting])
          return false
        end
        @connection.call_back(lane)
        lane.commit_state.doubtful = true
        lane.holds.add(:opening)
        @readings[lane] = Reading.new(base, lane.incarnation, [*waiting], place)
        true
      end

      # @param lane [Processing::Lane]
      def include?(lane) = @readings.key?(lane)

      # Lanes that were revoked.
      # @param lanes [Array<Processing::Lane>]
      def forget(lanes) = lanes.each { |lane| @readings.delete(lane) }

      # @param lane [Processing::Lane]
      # @param offset [Integer] stable, as committed by the group; negative: none
      # @param metadata [String, nil]
      # @return [Boolean] false if nothing was ever committed for a lane whose source began elsewhere: it is still held
      def opened(lane, offset, metadata)
        reading = @readings.delete(lane)
        lane.commit_state.doubtful = false
        begins = lane.incarnation == reading.incarnation
        return nothing_committed(lane) if begins && reading.place && offset.negative?
        begin_at(lane, reading, offset, metadata) if begins
        lane.holds.release(:opening)
        lane.takes.ready = true
        reading.waiting.each(&:call)
        true
      end

      private

      # The ledger's offset was none of the group's.
      # @return [false]
      def nothing_committed(lane)
        lane.reincarnate(nil)
        false
      end

      def begin_at(lane, reading, offset, metadata)
        base = offset.negative? ? reading.base : offset
        return log_went_backwards(lane, base, reading.place) if reading.place && beyond_end?(lane, base)
        @connection.emit("offsets.reopened", {topic: lane.topic_name, partition: lane.partition,
          old_offset: lane.committable_offset, offset: base})
        @connection.call_back(lane)
        completed = reopen(lane, base, (metadata unless offset.negative?), reading)
        lane.recording&.adopted(base, completed)
        move_source(lane, reading.place ? kept(lane, base, reading.place) : base)
        @committer.adopted(lane)
      end

      # The source can't begin at the committed offset. Seeking there would make it look for the log's end again, which may be
      # later than where it began.
      def log_went_backwards(lane, base, place)
        lane.reincarnate(place)
        move_source(lane, place)
        @committer.adopted(lane)
        @connection.emit("consumer.offset_reset", {topic: lane.topic_name, partition: lane.partition, old_offset: base,
          new_offset: place, count: base - place, reason: "the log went backwards"})
      end

      def move_source(lane, offset)
        @connection.driver.seek(lane.assignment.source, offset)
        lane.takes.sought(offset)
        lane.takes.align
      end

      def beyond_end?(lane, offset)
        _low, high = watermarks(lane)
        !high.nil? && high.between?(0, offset - 1)
      end

      # If retention has deleted the offset, the source must not look for it.
      # @return [Integer] the offset, or where the source begins instead
      def kept(lane, offset, place)
        low, _high = watermarks(lane)
        return offset unless low && low > offset
        (lane.topic.initial_offset.to_s == "latest") ? place : low
      end

      def watermarks(lane) = @connection.driver.cached_watermarks(lane.topic_name, lane.partition)

      # Reopens the lane. Since this process has not died, no crash is counted against suspected records. A lane whose source
      # began elsewhere has committed nothing: the count in the metadata is the former owner's.
      def reopen(lane, base, metadata, reading)
        unclean = (lane.suspects&.unclean || 0) - 1 unless reading.place
        lane.reopen(base) { @decode.call(lane, base, metadata, unclean) }
      end
    end
  end
end
