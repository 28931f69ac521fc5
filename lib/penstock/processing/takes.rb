# frozen_string_literal: true

require_relative "start_check"

module Penstock
  module Processing
    # Keeps what a lane knows about the takes from its source: whether there may be more, where the next one must begin, and
    # whether records before that are repeats or the log went backwards. One per lane, on its poll loop.
    class Takes
      # @return [Boolean] whether the source may have records
      attr_accessor :ready

      # @return [Integer, nil] where the last take began; records from there on may be repeated
      attr_accessor :last_start

      # @return [Integer, nil] end of the partition's log when records were last taken
      attr_accessor :log_end

      # @return [Integer, nil] where the log ends, as long as nothing was taken since its end was reached
      attr_reader :end_offset

      # @return [Integer, nil] the highest end of the log that the source has reached: no record comes between the tail and it
      attr_reader :highest_end

      # @return [Boolean] whether the source continues at the log's end where retention has deleted its offset
      attr_accessor :resets_to_end

      # @return [StartCheck] of the assignment
      attr_reader :start

      # The lane begins at another offset than its source. Only a source that has started can seek, so the seek happens after its
      # first result.
      # @return [Symbol, Integer] :earliest, :latest, or an offset
      attr_writer :begin_at

      # @param ledger [Ledger]
      # @param redelivery [Redelivery]
      # @param source [#cursor=, nil] records are taken from it
      def initialize(ledger, redelivery, source)
        @ledger = ledger
        @redelivery = redelivery
        @source = source
        @start = StartCheck.new
        @ready = true
        @may_repeat = @begun = @resets_to_end = false
        @last_start = @begin_at = @end_offset = @highest_end = @log_end = nil
        @end_again = false
      end

      # @return [Integer, nil] where the next take must begin; nil where the source decides
      def next_offset = @redelivery.position || @ledger.tail

      # Sets the source's cursor to where the next take must begin: after repeats were dropped, or the end moved the tail.
      def align
        @source.cursor = next_offset if @source && @ledger.known?
      end

      # Remembers where a take began, or where the next one begins after a seek backwards.
      # @param from [Integer]
      def read_from(from)
        @last_start = from
        @may_repeat = false
        @end_offset = nil
        @end_again = false
      end

      # `eofed` has to be called again although the source doesn't report the end again: its unit was called back, or records
      # before the end came back from memory.
      def repeat_end = @end_again = !@end_offset.nil?

      # @return [Boolean] whether {#repeat_end} was called since, and nothing was taken
      def end_again? = @end_again

      # @return [Boolean] true once
      def take_end_again = @end_again.tap { @end_again = false }

      # After a rebalance the source may repeat records that it has delivered; that doesn't mean that the log was reset.
      def may_repeat! = @may_repeat = true

      # @param first_offset [Integer] of a take
      # @return [Boolean] whether records from there on are repeats; true until a take has passed the tail
      def may_repeat?(first_offset) = @may_repeat && !@last_start.nil? && first_offset >= @last_start

      # The source was moved. If there was no result of it yet, it may not have started: then it is moved once more.
      # @param offset [Integer] logical ones too
      def sought(offset) = (@begin_at = offset unless @begun)

      # There is a result.
      # @return [Symbol, Integer, nil] once after {#begin_at}
      def begin
        @begun = true
        target, @begin_at = @begin_at, nil
        target
      end

      # The source has reached the end of the partition.
      # @param offset [Integer] of the next record to come
      def end_at(offset)
        return @ledger.reset(offset) unless @ledger.known?
        @end_offset = offset
        @highest_end = offset if @highest_end.nil? || offset > @highest_end
        reach_end
      end

      # If nothing is incomplete, the base moves to the end of the log: transactional topics end in control records, which are
      # never delivered.
      def reach_end
        return unless @end_offset && @ledger.dry? && @end_offset > @ledger.tail
        @ledger.admit(@ledger.tail, @end_offset, [])
        align
      end

      # A new incarnation begins.
      def clear
        @last_start = @end_offset = @highest_end = nil
        @end_again = false
        @ready = true
        @start.confirm
      end
    end
  end
end
