# frozen_string_literal: true

module Penstock
  module Outbox
    # Finds out whether the whole cluster is unavailable, or only the partitions of the oldest rows. It is given the result of
    # each turn and decides which rows the next turn leaves out. Belongs to the relay's thread, and ends with it.
    #
    # * none: changes to probing after a turn in which nothing was sent and something was stuck
    # * probing: turns leave out what is stuck, and read the rows after it. Ends with a turn that sends something, or when
    #   too many rows are left out: that turn parks the rows that were left out, unsent ({Settlement#resolved?}). Also ends
    #   with a turn that finds no more rows, for then it is the cluster
    class Outage
      # Most strands and rows that are left out: beyond that, rows after them would never have their turn.
      MOST = 10_000

      # The rows that a turn leaves out: strands, and ids of rows without a strand.
      Skip = Struct.new(:strands, :ids) do
        def none? = strands.empty? && ids.empty?
      end

      # @return [Skip]
      attr_reader :skip
      # @return [Array<Dispatch::Fate>] of the rows that are left out
      attr_reader :left_out

      # @param most [Integer]
      def initialize(most: MOST)
        @most = most
        forget
      end

      # @return [void]
      def forget
        @skip = Skip.new([], [])
        @left_out = []
        @error = nil
      end

      # @return [Boolean] whether the next turn reads past the stuck rows
      def probing? = !@skip.none?

      # @return [Boolean] whether the next turn parks the rows that were left out, even if nothing is sent
      def full? = @left_out.size > @most

      # @param settlement [Settlement, nil] of a turn; nil if it read no rows
      # @return [Exception, nil] why nothing can be sent
      def update(settlement)
        return nothing_behind unless settlement
        return add(settlement.stuck) if settlement.stuck.any?
        return unless settlement.resolved? # all were refused or postponed, which shows nothing about the cluster

        settlement.done.any? ? forget && nil : nothing_behind
      end

      private

      def add(stuck)
        stuck.each do |fate|
          row = fate.failed
          row["strand"] ? @skip.strands << row["strand"] : @skip.ids << row["id"]
          @left_out << fate.alone
        end
        @error = stuck.first.error
      end

      def nothing_behind
        @error.tap { forget }
      end
    end
  end
end
