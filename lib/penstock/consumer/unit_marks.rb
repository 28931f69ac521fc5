# frozen_string_literal: true

module Penstock
  class Consumer
    # Records how far the user's code has marked one unit of a partition whose keys run in parallel: a mark stands for the
    # record and everything before it *in its unit*.
    #
    # Written by any thread under the lock of the lane's {Marks}, read by the poll loop. Lives as long as a record of the unit
    # is incomplete; marks may come after `consume` has returned.
    class UnitMarks
      # @return [Integer] highest marked offset, -1 before the first mark
      attr_reader :through

      # @return [Boolean] whether an earlier unit with the same records had it. Poll loop only
      attr_accessor :inherited

      # @return [Messages::Listed, nil] records of the last unit that had it. Poll loop only
      attr_accessor :messages

      # @param lane_marks [Marks]
      def initialize(lane_marks)
        @lane = lane_marks
        @through = -1
        @closed = @inherited = false
        @holder = @others = @messages = nil
      end

      # A consumer gets the unit. If the consumer fails it may lose records it holds: from then on marks of this unit don't
      # count. There are several holders if a pause made the same records run again.
      # @param context [Context]
      def add_holder(context)
        return if held_by?(context) # the failure count of the first time stays
        return @others = [*@others, [context, context.failures]].freeze if @holder
        @failures = context.failures
        @holder = context
      end

      # @param context [Context]
      # @return [Boolean] whether it was given these records
      def held_by?(context)
        return !@holder.nil? if context.equal?(@holder)
        @others ? @others.any? { |other, _failures| context.equal?(other) } : false
      end

      # @return [Boolean] whether the partition is still ours, and the records needn't be redelivered
      def owned? = !over? && @lane.owned?

      # @param offset [Integer]
      # @param metadata [String, nil]
      # @return [Boolean] whether it counts
      def mark(offset, metadata = nil)
        @lane.within(offset, metadata) { over? ? false : @through = [offset, @through].max }
      end

      # @see Marks#reported
      def reported(offset)
        @lane.while_open { @through = offset if offset > @through && !@closed }
      end

      # Called by the poll loop: its records are redelivered, after an error, and are marked elsewhere. `through` is the final
      # record of how far they had come.
      def close = @lane.synchronize { @closed = true }

      private

      def over? = @closed || failed?(@holder, @failures) || (@others ? @others.any? { |each| failed?(*each) } : false)
      def failed?(holder, count) = !holder.nil? && holder.failures != count
    end
  end
end
