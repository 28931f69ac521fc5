# frozen_string_literal: true

module Penstock
  module Processing
    # Decides which transaction may commit a lane's offset: one at a time, and meanwhile the loop commits nothing for the lane.
    # Owned by the lane's poll loop.
    #
    # States: free → open (a claim was granted; the worker commits or aborts) → free; or unknown (the worker is gone and it
    # isn't known whether it committed), until the producer reports it or the group's committed offset is read. Waiting claims
    # are granted in their order.
    class OffsetSlot
      # @return [Claim, nil] the claim whose transaction commits the lane's offset
      attr_reader :holder

      # @return [Integer, nil] the room for metadata that was last reported as too small
      attr_accessor :reported_budget

      def initialize
        @waiting = []
        @holder = nil
        @unknown = false
      end

      # @return [Boolean]
      def taken? = !@holder.nil?

      # @return [Boolean] whether the end of its transaction is unknown, and its worker can no longer report it
      def unknown? = @unknown

      # @return [Boolean]
      def waiting? = @waiting.any?

      # @param cell [Object]
      # @return [Boolean] whether a transaction that was granted the slot has marks in that cell
      def carries?(cell) = taken? && @holder.marks.any? { |each, _offset| each.equal?(cell) }

      # @return [Unit, nil] that has ended, but whose outcome waits for the end of its transaction
      def deferred_unit = @holder&.outcome&.unit

      def add(claim) = @waiting << claim

      # @return [Array<Claim>] waiting claims, the oldest first
      def waiting = @waiting.dup

      # @param claim [Claim] to grant
      def grant(claim) = @holder = @waiting.delete(claim)

      # @param claim [Claim] whose worker is gone without reporting the end
      # @return [Boolean] whether this wasn't known before
      def mark_unknown(claim)
        return false unless claim.equal?(@holder) && !@unknown
        @unknown = true
      end

      # @param claim [Claim] that has ended
      def close(claim)
        @waiting.delete(claim)
        return unless claim.equal?(@holder)
        @holder = nil
        @unknown = false
      end

      # @yieldparam claim [Claim] that waits
      # @yieldreturn [Boolean] whether it may keep waiting
      # @return [Array<Claim>] those that may not, removed
      def remove_unless(&)
        return [] if @waiting.empty?
        @waiting, refused = @waiting.partition(&)
        refused
      end
    end
  end
end
