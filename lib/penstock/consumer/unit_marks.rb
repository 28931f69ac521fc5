# frozen_string_literal: true

module Penstock
  class Consumer
    # How far the user's code says it has got in one unit of a partition whose keys run side by side: a mark stands for the
    # record and everything before it *in its unit*.
    #
    # Written by any thread under the lock of the lane's {Marks}, read by the poll loop. Lives as long as a record of the unit is
    # incomplete; marks may come after `consume` has returned.
    class UnitMarks
      # @return [Integer] highest marked offset, -1 before the first mark
      attr_reader :through

      # @param lane_marks [Marks]
      def initialize(lane_marks)
        @lane = lane_marks
        @through = -1
      end

      # @return [Boolean] whether the partition is still ours
      def owned? = @lane.owned?

      # @param offset [Integer]
      # @param metadata [String, nil]
      # @return [Boolean] whether the partition is still ours
      def mark(offset, metadata = nil)
        @lane.within(offset, metadata) { @through = offset if offset > @through }
      end

      # @see Marks#reported
      def reported(offset)
        @lane.while_open { @through = offset if offset > @through }
      end
    end
  end
end
