# frozen_string_literal: true

module Penstock
  module Processing
    # Which transaction may carry a lane's offset: one at a time, and beside it the loop commits nothing for the lane. Owned by
    # the lane's poll loop.
    #
    # States: free → open (a claim was granted; the worker commits or aborts) → free; or unknown (the worker is gone and nobody
    # knows whether it was committed), left by the producer's answer, or by a reading of what the group has. Claims that wait
    # are granted in their order.
    class OffsetSlot
      # @return [Claim, nil] whose transaction carries the lane's offset
      attr_reader :holder

      # @return [Integer, nil] the room for metadata that was last told to be too small
      attr_accessor :told_room

      def initialize
        @waiting = []
        @holder = nil
        @unknown = false
      end

      # @return [Boolean]
      def taken? = !@holder.nil?

      # @return [Boolean] whether the end of its transaction isn't known, and nobody is left who would say so
      def unknown? = @unknown

      # @return [Boolean]
      def waiting? = @waiting.any?

      def ask(claim) = @waiting << claim

      # @return [Array<Claim>] those that wait, the oldest first
      def waiting = @waiting.dup

      # @param claim [Claim] is granted
      def open(claim) = @holder = @waiting.delete(claim)

      # @param claim [Claim] whose worker is gone without a word
      # @return [Boolean] whether that is news
      def lose(claim)
        return false unless claim.equal?(@holder) && !@unknown
        @unknown = true
      end

      # @param claim [Claim] is over
      def close(claim)
        @waiting.delete(claim)
        return unless claim.equal?(@holder)
        @holder = nil
        @unknown = false
      end

      # @yieldparam claim [Claim] that waits
      # @yieldreturn [Boolean] whether it may go on waiting
      # @return [Array<Claim>] those that may not, and no longer do
      def refuse_unless(&)
        return [] if @waiting.empty?
        @waiting, refused = @waiting.partition(&)
        refused
      end
    end
  end
end
