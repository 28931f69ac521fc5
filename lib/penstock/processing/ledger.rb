# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module Processing
    # What is done and what isn't in one owned partition.
    #
    # `base` is the lowest incomplete offset: the one that is committed. `tail` is where the next take must begin. Both are nil
    # until the first record, end of partition or committed offset tells where the partition stands. In whole mode records
    # complete in order, so completing is one comparison a unit. Owned by the poll loop; no other thread reads it.
    class Ledger
      # @return [Integer, nil] lowest incomplete offset
      attr_reader :base

      # @return [Integer, nil] end of what was admitted
      attr_reader :tail

      # @param base [Integer, nil] the committed offset, nil when there is none
      def initialize(base = nil)
        reset(base)
      end

      # Starts over at an offset: after a seek, or in a log that went backwards.
      # @param offset [Integer, nil]
      def reset(offset)
        @base = offset
        @tail = offset
      end

      # @return [Boolean] whether it is known where the partition stands
      def known? = !@base.nil?

      # @return [Boolean] whether nothing admitted is incomplete
      def dry? = @base == @tail

      # Takes the span of a take in. Only a span that begins at the tail may be admitted: anything between would silently
      # count as a gap, and a gap counts as complete.
      #
      # @param from [Integer] where the lane's cursor stood
      # @param to [Integer] last offset + 1
      # @raise [LaneDiscontinuity] when the span doesn't begin at the tail, or ends before it
      def admit(from, to)
        reset(from) unless known?
        unless from == @tail && to >= from
          raise LaneDiscontinuity, "records #{from}...#{to} don't follow offset #{@tail}, where the last take ended"
        end
        @tail = to
      end

      # Everything below +offset+ is complete.
      # @param offset [Integer]
      # @return [Boolean] whether the base moved; offsets that are complete already, or not yet admitted, move nothing beyond
      def complete_through(offset)
        return false unless known?
        reached = [offset, @tail].min
        return false if reached <= @base
        @base = reached
        true
      end
    end
  end
end
