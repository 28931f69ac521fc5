# frozen_string_literal: true

module Penstock
  module Processing
    # Keeps which leader epoch wrote which offsets, as far as commits need it: a commit contains the epoch of the record below the
    # committed offset, so that the next owner notices a truncated log. A partition changes its leader rarely, so this is a list
    # of one or two pairs.
    class LeaderEpochs
      UNKNOWN = -1

      def initialize
        @starts = []
      end

      # Adds the records of a batch: two look-ups if one leader wrote them all.
      def record(batch)
        size = batch.size
        return if size == 0
        note(batch.offset(0), batch.leader_epoch(0))
        return if batch.leader_epoch(size - 1) == @starts.last[1]
        1.upto(size - 1) { |index| note(batch.offset(index), batch.leader_epoch(index)) }
      end

      # @param base [Integer] committed offset
      # @return [Integer] epoch of the record below it, -1 when unknown
      def below(base)
        @starts.shift while @starts.size > 1 && @starts[1][0] < base
        start = @starts.first
        (start && start[0] < base) ? start[1] : UNKNOWN
      end

      def clear = @starts.clear

      private

      def note(offset, epoch)
        @starts << [offset, epoch] if @starts.empty? || @starts.last[1] != epoch
      end
    end
  end
end
