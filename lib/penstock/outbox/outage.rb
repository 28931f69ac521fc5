# frozen_string_literal: true

module Penstock
  module Outbox
    # Whether the cluster is out, or only what the head of the table is for. Told of each turn, it says what the next one leaves
    # out. Belongs to the relay's thread, and is forgotten with it.
    #
    # * none: left by a turn of which nothing went out and something was stuck, to probing
    # * probing: turns leave out what is stuck, and read on behind it. Left by one that sends something, or with which more is
    #   left out than may be: it parks what is left out, unsent ({Settlement#resolved?}); by one that finds nothing more to read,
    #   for then it is the cluster
    class Outage
      # What is stuck behind so many strands and rows is left out no more: else what comes behind would never have its turn.
      MOST = 10_000

      # What a turn leaves out, by number.
      Skip = Struct.new(:strands, :ids) do
        def none? = strands.empty? && ids.empty?
      end

      # @return [Skip]
      attr_reader :skip
      # @return [Array<Dispatch::Fate>] of what is left out
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

      # @return [Boolean] whether the next turn is to find out what it is
      def probing? = !@skip.none?

      # @return [Boolean] whether the next turn parks it, whatever goes out
      def full? = @left_out.size > @most

      # @param settlement [Settlement, nil] of a turn; nil where nothing was read
      # @return [Exception, nil] why nothing goes out
      def learn(settlement)
        return nothing_behind unless settlement
        return add(settlement.stuck) if settlement.stuck.any?
        return unless settlement.resolved? # all were refused or put off, which says nothing

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
