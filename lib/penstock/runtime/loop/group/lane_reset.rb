# frozen_string_literal: true

module Penstock
  module Runtime
    # Starts lanes again from the group's committed offset when their ledger can't be trusted any more: it isn't known whether a
    # transaction that carried their offset was committed, or the member has a new id. Part of {OffsetLookup}; runs on the poll
    # loop's thread.
    #
    # While a lane is *doubtful*, it hands nothing out, no transaction may carry its offset, and nothing is committed for it. That
    # ends with the group's answer; if there was a seek in the meantime, the lane continues at the seek's target. The state is
    # removed with its lane.
    class LaneReset
      # State of one lane: where it begins if the group has no offset, its untrusted incarnation, and callbacks for the answer.
      Reading = Struct.new(:base, :incarnation, :waiting)
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
      # @param opened [#call]
      # @return [Boolean] whether the group is to be asked; false where the lane was doubtful already and the request is in
      #   flight
      def add(lane, base, opened)
        if (reading = @readings[lane])
          reading.waiting << opened
          return false
        end
        @connection.call_back(lane)
        lane.commit_state.doubtful = true
        lane.holds.add(:opening)
        @readings[lane] = Reading.new(base, lane.incarnation, [opened])
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
      def opened(lane, offset, metadata)
        reading = @readings.delete(lane)
        lane.commit_state.doubtful = false
        begin_at(lane, reading.base, offset, metadata) if lane.incarnation == reading.incarnation
        lane.holds.release(:opening)
        lane.takes.ready = true
        reading.waiting.each(&:call)
      end

      private

      def begin_at(lane, base, offset, metadata)
        base = offset unless offset.negative?
        @connection.emit("offsets.reopened", {topic: lane.topic_name, partition: lane.partition,
          old_offset: lane.committable_offset, offset: base})
        @connection.call_back(lane)
        completed = reopen(lane, base, (metadata unless offset.negative?))
        lane.recording&.adopted(base, completed)
        @connection.driver.seek(lane.assignment.source, base)
        @committer.adopted(lane)
      end

      # Reopens the lane. Since this process has not died, no crash is counted against suspected records.
      def reopen(lane, base, metadata)
        unclean = (lane.suspects&.unclean || 0) - 1
        lane.reopen(base) { @decode.call(lane, base, metadata, unclean) }
      end
    end
  end
end
