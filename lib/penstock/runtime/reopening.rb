# frozen_string_literal: true

module Penstock
  module Runtime
    # Lanes whose ledger can't be trusted any more: nobody knows whether a transaction that carried their offset was committed,
    # or the member is another than it was. They begin anew where the group stands. Part of {Opening}; runs on the poll loop's
    # thread.
    #
    # While a lane is *doubtful* it hands nothing out, no transaction may carry its offset, and nothing is committed for it. That
    # ends with the group's answer; where a seek overtook the reading, the seek stands. It is forgotten with its lane.
    class Reopening
      # One lane's: where it begins if the group has nothing, the incarnation that can't be trusted, who waits for the answer.
      Reading = Struct.new(:base, :incarnation, :waiting)
      private_constant :Reading

      # @param session [Session]
      # @param committer [Committer]
      # @param decode [#call] what an offset's metadata say of what is beyond it: `call(lane, offset, metadata, unclean)`
      def initialize(session, committer, decode)
        @session = session
        @committer = committer
        @decode = decode
        @readings = {}.compare_by_identity
      end

      # What waits for a worker is called back at once: it would run for nothing, and again.
      # @param lane [Processing::Lane]
      # @param base [Integer] where it begins if the group has nothing
      # @param opened [#call]
      # @return [Boolean] whether the group is to be asked; it is being asked already where the lane was doubtful before
      def add(lane, base, opened)
        if (reading = @readings[lane])
          reading.waiting << opened
          return false
        end
        @session.call_back(lane)
        lane.doubtful = true
        lane.holds.add(:opening)
        @readings[lane] = Reading.new(base, lane.incarnation, [opened])
        true
      end

      # @param lane [Processing::Lane]
      def include?(lane) = @readings.key?(lane)

      # Lanes that were given up.
      # @param lanes [Array<Processing::Lane>]
      def forget(lanes) = lanes.each { |lane| @readings.delete(lane) }

      # @param lane [Processing::Lane]
      # @param offset [Integer] stable, as the group has it; negative: nothing
      # @param metadata [String, nil]
      def opened(lane, offset, metadata)
        reading = @readings.delete(lane)
        lane.doubtful = false
        begin_at(lane, reading.base, offset, metadata) if lane.incarnation == reading.incarnation
        lane.holds.release(:opening)
        lane.ready = true
        reading.waiting.each(&:call)
      end

      private

      def begin_at(lane, base, offset, metadata)
        base = offset unless offset.negative?
        @session.emit("offsets.reopened", {topic: lane.topic_name, partition: lane.partition, old_offset: lane.position,
          offset: base})
        @session.call_back(lane)
        completed = reopen(lane, base, (metadata unless offset.negative?))
        lane.recording&.adopted(base, completed)
        @session.driver.seek(lane.source, base)
        @committer.adopted(lane)
      end

      # The process lives: what is suspected of having killed others isn't suspected more than it was.
      def reopen(lane, base, metadata)
        unclean = (lane.suspects&.unclean || 0) - 1
        lane.reopen(base) { @decode.call(lane, base, metadata, unclean) }
      end
    end
  end
end
