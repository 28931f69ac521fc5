# frozen_string_literal: true

module Penstock
  module Reading
    # One partition that is read: where it begins, where it ends, and how far it has been read. Decides which records of a batch
    # belong to it, and when it is finished.
    #
    # Its end is an offset, but the last record before it may be missing: compaction removes records, and the markers of
    # transactions, as well as aborted records, have offsets too. So it is finished as soon as something shows that nothing before
    # the end is to come: a record at or after the end, or the end of the log there. Belongs to the thread that reads.
    class Part
      # @return [String]
      attr_reader :topic
      # @return [Integer]
      attr_reader :partition
      # @return [Integer] offset of the first record
      attr_reader :from
      # @return [Integer, nil] offset before which it ends; nil: never
      attr_reader :to

      # @param topic [String]
      # @param partition [Integer]
      # @param from [Integer]
      # @param to [Integer, nil]
      def initialize(topic, partition, from, to)
        @topic = topic
        @partition = partition
        @from = from
        @to = to
        @position = from
        @finished = empty?
      end

      # @return [Array(String, Integer)]
      def key = [@topic, @partition]

      # @return [Boolean] whether no offset lies between its beginning and its end
      def empty? = !@to.nil? && @from >= @to

      # @return [Boolean]
      def finished? = @finished

      # Called when nothing more is to be read.
      # @return [void]
      def finish = @finished = true

      # A log that went backwards (a topic that was created again, an unclean election) repeats offsets. With an end, they are
      # left out; without one, they are new records.
      #
      # @param batch [Native::Batch] the next one of the partition
      # @return [Array(Integer, Integer), nil] index of the first record that belongs to it, and their number; nil: none does
      def accept(batch)
        finish if reaches_end?(batch)
        return if batch.size.zero?

        first = index_of(batch, @position)
        last = @to ? index_of(batch, @to) : batch.size
        advance(batch.to)
        [first, last - first] if last > first
      end

      # @param eof [Integer, nil] offset at which the log ended when a batch was fetched
      # @return [Boolean] whether the log ended before the end of this part
      def short?(eof) = !eof.nil? && !@finished && !@to.nil? && eof < @to

      private

      def reaches_end?(batch) = !@to.nil? && (batch.to >= @to || (batch.eof || 0) >= @to)

      def advance(offset)
        return if offset <= @position

        @position = @to ? offset : 0
      end

      # @return [Integer] index of the first record at or after the offset
      def index_of(batch, offset)
        return 0 if batch.offset(0) >= offset
        return batch.size if batch.to <= offset

        (0...batch.size).bsearch { |index| batch.offset(index) >= offset }
      end
    end
  end
end
