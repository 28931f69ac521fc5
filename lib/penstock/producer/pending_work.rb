# frozen_string_literal: true

module Penstock
  class Producer
    # The work of a producer that its client doesn't know of: a transaction, buffered messages. Its {Connection} checks it
    # before it disconnects a client, and ends it when it closes. Created at setup; any thread.
    class PendingWork
      # @param transactions [Transactions, nil]
      # @param buffer [Buffer]
      # @param pipeline [Pipeline]
      def initialize(transactions:, buffer:, pipeline:)
        @transactions = transactions
        @buffer = buffer
        @pipeline = pipeline
      end

      # @return [Boolean] whether no transaction is open, nor one whose outcome is unknown
      def no_transaction?
        @transactions.nil? || @transactions.idle?
      end

      # Runs the block while there is no transaction.
      #
      # @return [Object, nil] what the block returns; nil, without calling it, if there is a transaction
      # @raise [ProducerClosedError] the producer is closing
      def between_transactions(&block)
        @transactions ? @transactions.between(&block) : yield
      end

      # Waits for the running transaction to end, and admits no other.
      #
      # @param deadline [Deadline]
      # @return [void]
      def end_transactions(deadline)
        @transactions&.shut(deadline)
      end

      # @return [Boolean]
      def nothing_buffered?
        @buffer.empty?
      end

      # Passes the buffer to the client: if that isn't possible together, each message alone; but not in transactions, because the
      # outcome of the one that failed may be unknown. Messages that the client doesn't accept stay in the buffer.
      #
      # @return [Hash{Hash => Exception}] why, by message
      def flush
        @pipeline.flush_buffer("buffer.flushed_async", sync: false)
        {}
      rescue StandardError, ScriptError
        @transactions ? {} : @pipeline.flush_each
      end

      # @return [Array<Hash>] everything in the buffer, which is empty afterwards
      def take_buffered
        @buffer.take.to_a
      end
    end
  end
end
