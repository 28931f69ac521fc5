# frozen_string_literal: true

require_relative "../on_demand"
require_relative "transaction"
Penstock.load_constant :NonTransactionalMarkingAttemptError

module Penstock
  class Consumer
    # The transactions of one consumer: opens them, and finds the one the caller is in. Owned by its {Context}; any thread of
    # the user's code may have one transaction.
    class OpenTransactions
      # Refuses a mark outside of a transaction after marks inside of one, which the lane's cell remembers.
      # @param lane [Processing::Lane]
      # @param message [Message]
      # @return [void]
      # @raise [NonTransactionalMarkingAttemptError]
      def self.check_outside(lane, message)
        return unless lane.marks.carried? && lane.topic.manual_offset_management?
        raise NonTransactionalMarkingAttemptError, "#{message.uid} is marked outside of a transaction, records of " \
          "#{lane.topic_name}/#{lane.partition} before it were marked inside: wrap it in `transaction { … }`, or nothing of " \
          "the two is exactly once"
      end

      # @param context [Context]
      # @param lane [Processing::Lane] only its names and marks are used here
      # @param loop_client [#claim, #end_claim]
      def initialize(context, lane, loop_client)
        @context = context
        @lane = lane
        @loop_client = loop_client
        @open = {}.compare_by_identity
        @lock = Mutex.new
      end

      # @return [Transaction, nil] the one whose block the caller is in
      def current = @open[Fiber.current]

      # Runs the block in a transaction.
      # @param given [Producer, #with, nil] a producer, or a pool of them; nil: the consumer's own
      # @return [Object, nil] the block's return value; nil when it was aborted on purpose
      # @raise [TransactionAlreadyInitializedError] the caller is in one
      # @raise [UnsupportedCaseError] in a process of a pool
      # @raise [ArgumentError] without a block, or for what is neither a producer nor a pool; nothing was begun
      def run(given, &block)
        refuse
        raise ArgumentError, "transaction needs a block: what it produces and marks becomes visible together" unless block
        given ||= @context.producer
        refuse_producer(given) unless pool?(given) || given.respond_to?(:transaction)
        return given.with { |producer| transact(producer, &block) } if pool?(given)
        transact(given, &block)
      end

      private

      def refuse
        if current
          raise TransactionAlreadyInitializedError, "#{place} is already in a transaction, which includes everything it produces"
        end
        return if @loop_client.respond_to?(:claim)
        raise UnsupportedCaseError, "#{place} runs in a process of a pool, where there are no transactions: run it on :threads"
      end

      def refuse_producer(given)
        raise ArgumentError, "transaction takes a producer, or a pool of producers, not #{given.inspect[0, 80]}: leave it out " \
          "to use the consumer's own"
      end

      def pool?(given) = given.respond_to?(:with) && !given.respond_to?(:produce_async)

      def transact(producer, &block)
        marks = @lane.marks
        transaction = Transaction.new(@lane, @loop_client, producer, @context.begin_transaction)
        within(transaction) { transaction.call(&block) }
      ensure
        marks.carried! if transaction&.carried
        emit_end(transaction) if transaction&.begun?
      end

      # The lock is held for one operation on a Hash.
      def within(transaction)
        @lock.synchronize { @open[Fiber.current] = transaction }
        yield
      ensure
        @lock.synchronize { @open.delete(Fiber.current) }
      end

      def emit_end(transaction)
        @loop_client.instrument("consumer.consuming.transaction", {topic: @lane.topic_name, partition: @lane.partition,
          caller: @context.consumer, producer_id: transaction.producer.id, outcome: transaction.outcome})
      end

      def place = "#{@lane.topic_name}/#{@lane.partition}"
    end
  end
end
