# frozen_string_literal: true

require_relative "../consumer/marks"

module Penstock
  module Processing
    # Compares a lane with the last commit of its group, and decides whether anything may be committed for it now. One per
    # lane, on its poll loop; it outlives incarnations.
    class CommitState
      # Usable share of the room for the map in a commit's metadata.
      PRESSURE = 0.75

      # @return [Integer, nil] the offset that the broker last acknowledged; nil: the group never committed here
      attr_reader :offset

      # @return [String, nil] the user's metadata that were adopted with the committed offset
      attr_accessor :adopted_metadata

      # Whether the lane's offset may be wrong, so that the group's committed offset must be read: see {Runtime::LaneReset}.
      # @return [Boolean]
      attr_writer :doubtful

      # @param lane [Lane]
      def initialize(lane)
        @lane = lane
        @ledger = lane.ledger
        @offset_slot = lane.offset_slot
        @doubtful = false
        @offset = @version = @adopted_metadata = nil
      end

      # @return [Boolean] also as long as the source hasn't confirmed where the lane begins
      def doubtful? = @doubtful || !@lane.takes.start.confirmed?

      # @return [Boolean] whether nothing may be committed now, because a transaction commits the offset or the right offset is
      #   unknown
      def undecided? = doubtful? || @offset_slot.taken?

      # @return [Boolean] whether the commit differs from what the next owner should know: the offset, completed records beyond
      #   it, or attempts
      def uncommitted?
        return false unless @ledger.known?
        @ledger.committable != @offset || @ledger.version != @version || [@lane.attempts, *@lane.suspects].any?(&:changed?)
      end

      # @param offset [Integer, nil] as committed in the group
      # @param version [Integer, nil] of the ledger, as in the commit
      def committed(offset, version = @ledger.version)
        @offset = offset
        @version = version
      end

      # Attempts of failed records don't count: if they did, some hundred failing records would stop the lane long before they
      # fill its window. Those without room in a commit are counted from zero by the next owner.
      # @return [Boolean] whether the offsets complete beyond the base may become too many for a commit's metadata: then nothing
      #   more is taken until the base moves
      def metadata_nearly_full?
        return @nearly_full if @checked_version == @ledger.version
        @checked_version = @ledger.version
        @nearly_full = @ledger.pressure(user_bytes: user_bytes) >= PRESSURE
      end

      # @return [Integer] bytes of a commit's metadata that are the user's
      def user_bytes
        [(@lane.marks.metadata || @adopted_metadata).to_s.bytesize, Consumer::Marks::MAX_METADATA_BYTES].min
      end
    end
  end
end
