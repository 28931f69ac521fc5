# frozen_string_literal: true

module Penstock
  module Processing
    # The time at which user code wants its lane's `tick` to be called (`tick_in`): of several wishes the earliest, because one
    # call serves all. Written by any thread, read by the poll loop; ends with the lane.
    class TickWish
      # @return [Integer, nil] monotonic ms
      attr_reader :due

      def initialize
        @lock = Mutex.new
        @due = nil
      end

      # @param at [Integer] monotonic ms
      # @return [Boolean] whether it is now the earliest: the poll loop doesn't know it yet
      def add(at)
        @lock.synchronize { (@due.nil? || at < @due) && !!(@due = at) }
      end

      # `tick` is about to be called.
      # @return [Boolean] whether it was wished for
      def take = @lock.synchronize { !@due.nil?.tap { @due = nil } }
    end
  end
end
