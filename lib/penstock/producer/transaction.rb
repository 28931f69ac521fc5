# frozen_string_literal: true

require_relative "../errors"

module Penstock
  class Producer
    # The object that `producer.transaction { |tx| … }` yields: the same methods as the producer's, usable only while the block
    # runs and only in its fiber. The producer's own methods would begin another transaction, or wait for this one to end (in a
    # thread started inside the block); these raise.
    class Transaction
      # How it ended: :aborted (also before a commit was sent), :committed, :unknown (a commit was sent and not answered),
      # :lost (the same, and the client that could have asked again is gone).
      #
      # @api private
      # @return [Symbol]
      attr_accessor :fate

      # @api private
      def initialize(producer)
        @producer = producer
        @fiber = Fiber.current
        @open = true
        @fate = :aborted
      end

      # @return [Boolean] whether messages are still accepted
      def open?
        @open
      end

      # @return [Delivery::Handle, true] see {Producer#produce_async}
      # @raise [TransactionRequiredError] it has ended, or belongs to another thread
      def produce_async(message)
        own.produce_async(message)
      end

      # @return [Delivery::Report] see {Producer#produce_sync}
      # @raise [TransactionRequiredError] it has ended, or belongs to another thread
      def produce_sync(message)
        own.produce_sync(message)
      end

      # @return [Array<Delivery::Handle>] see {Producer#produce_many_async}
      # @raise [TransactionRequiredError] it has ended, or belongs to another thread
      def produce_many_async(messages, handle: true)
        own.produce_many_async(messages, handle: handle)
      end

      # @return [Array<Delivery::Handle>] see {Producer#produce_many_sync}
      # @raise [TransactionRequiredError] it has ended, or belongs to another thread
      def produce_many_sync(messages)
        own.produce_many_sync(messages)
      end

      # @return [void] see {Producer#transaction_mark_as_consumed}
      # @raise [TransactionRequiredError] it has ended, or belongs to another thread
      def mark_as_consumed(consumer, message, offset_metadata = nil)
        own.transaction_mark_as_consumed(consumer, message, offset_metadata)
      end

      # Leaves the block; the transaction is aborted and {Producer#transaction} returns nil.
      #
      # @raise [AbortTransaction] always
      def abort
        raise AbortTransaction
      end

      # @api private
      def close
        @open = false
      end

      # @return [String]
      def inspect
        "#<#{self.class} of #{@producer.id} #{@open ? "open" : "over"}>"
      end

      private

      def own
        return @producer if @open && @fiber.equal?(Fiber.current)

        raise TransactionRequiredError, "this transaction of #{@producer.id} " \
          "#{@open ? "belongs to another thread or fiber: produce where its block runs" : "has ended"}"
      end
    end
  end
end
