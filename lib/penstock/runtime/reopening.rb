# frozen_string_literal: true

module Penstock
  module Runtime
    # Lanes whose ledger can't be trusted any more, because nobody knows whether a transaction that carried their offset was
    # committed. They begin anew where the group stands. Part of {Opening}; runs on the poll loop's thread.
    class Reopening
      # @param session [Session]
      # @param codec [#decode]
      def initialize(session, codec)
        @session = session
        @codec = codec
        @lanes = {}.compare_by_identity
      end

      # @param lane [Processing::Lane]
      # @param base [Integer] where it begins if the group has nothing
      # @param opened [#call]
      def add(lane, base, opened)
        lane.holds.add(:opening)
        @lanes[lane] = [base, opened]
      end

      # @param lane [Processing::Lane]
      def include?(lane) = @lanes.key?(lane)

      # @param offset [Integer] stable, as the group has it; negative: nothing
      # @param metadata [String, nil]
      def opened(lane, offset, metadata)
        base, opened = @lanes.delete(lane)
        @session.emit("offsets.reopened", {topic: lane.topic_name, partition: lane.partition, old_offset: lane.position,
          offset: offset.negative? ? base : offset})
        decoded = @codec.decode(lane, offset, metadata) unless offset.negative?
        begin_at(lane, offset.negative? ? base : offset, decoded)
        opened.call
      end

      private

      def begin_at(lane, offset, decoded)
        completed = decoded&.completed || []
        lane.reopen(offset, completed)
        decoded&.attempts&.each { |failed, count| lane.attempts.restore(failed, count) }
        lane.recording&.adopted(offset, completed)
        @session.driver.seek(lane.source, offset)
        lane.holds.release(:opening)
        lane.ready = true
      end
    end
  end
end
