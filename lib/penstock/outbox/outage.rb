# frozen_string_literal: true

module Penstock
  module Outbox
    # Whether the cluster is out, or only what the head of the table is for. Told of each turn, it says what the next one leaves
    # out. Belongs to the relay's thread, and is forgotten with it.
    #
    # * none: left by a turn of which nothing went out and something was stuck, to probing
    # * probing: turns leave out what is stuck, and read on behind it. Left by one that sends something, to elsewhere; by one that
    #   finds nothing more to read, to none, for then it is the cluster
    # * elsewhere: the next turn is that of the head again, and parks what is still stuck. Left by it, to none
    class Outage
      # So many strands and rows are left out at most; then the head is tried again.
      MOST = 10_000

      # What a turn leaves out, by number.
      Skip = Struct.new(:strands, :ids) do
        def none? = strands.empty? && ids.empty?

        def size = strands.size + ids.size
      end

      # @return [Skip]
      attr_reader :skip

      def initialize
        forget
      end

      # @return [void]
      def forget
        @skip = Skip.new([], [])
        @error = nil
        @elsewhere = false
      end

      # @return [Boolean] whether the next turn is to find out what it is
      def probing? = !@skip.none?

      # @return [Boolean] whether other rows have just gone out
      def elsewhere? = @elsewhere

      # @param settlement [Settlement, nil] of a turn; nil where nothing was read
      # @return [Exception, nil] why nothing goes out
      def learn(settlement)
        return add(settlement) if settlement&.outage&.any?
        return nothing_behind if settlement.nil?

        settle(settlement.done.any?)
        nil
      end

      private

      def add(settlement)
        @error = settlement.outage.first
        settlement.stuck.each { |row| row["strand"] ? @skip.strands << row["strand"] : @skip.ids << row["id"] }
        @error.tap { forget if @skip.size > MOST }
      end

      def nothing_behind
        @error.tap { forget }
      end

      # A probe whose rows were all refused or put off says nothing: the next one reads on behind them.
      def settle(sent)
        return if probing? && !sent

        probed = probing?
        forget
        @elsewhere = probed
      end
    end
  end
end
