# frozen_string_literal: true

require_relative "../errors"

module Penstock
  class Producer
    # What `producer.transaction { |tx| … }` yields: the same calls as the producer's, for as long as the block runs and in
    # its fiber alone. Where the producer's own would begin a transaction of their own or wait for this one to end (in a
    # thread started inside the block), these raise.
    class Transaction
      # What became of it: :aborted (also while nothing else could have become of it), :committed, :unknown (to be committed, and
      # not answered), :lost (the same, and who could have been asked again is gone).
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

      # @return [Boolean] whether messages are still taken
      def open?
        @open
      end

      # @return [Delivery::Handle, true] see {Producer#produce_async}
      # @raise [TransactionRequiredError] it is over, or another thread's
      def produce_async(message)
        own.produce_async(message)
      end

      # @return [Delivery::Report] see {Producer#produce_sync}
      # @raise [TransactionRequiredError] it is over, or another thread's
      def produce_sync(message)
        own.produce_sync(message)
      end

      # @return [Array<Delivery::Handle>] see {Producer#produce_many_async}
      # @raise [TransactionRequiredError] it is over, or another thread's
      def produce_many_async(messages, handle: true)
        own.produce_many_async(messages, handle: handle)
      end

      # @return [Array<Delivery::Handle>] see {Producer#produce_many_sync}
      # @raise [TransactionRequiredError] it is over, or another thread's
      def produce_many_sync(messages)
        own.produce_many_sync(messages)
      end

      # @return [void] see {Producer#transaction_mark_as_consumed}
      # @raise [TransactionRequiredError] it is over, or another thread's
      def mark_as_consumed(consumer, message, offset_metadata = nil)
        own.transaction_mark_as_consumed(consumer, message, offset_metadata)
      end

      # Leaves the block; the transaction is aborted and its call returns nil.
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

        raise TransactionRequiredError, "this transaction of #{@producer.id} is " \
          "#{@open ? "another thread's or fiber's: produce where its block runs" : "over"}"
      end
    end
  end
end
