# frozen_string_literal: true

require_relative "errors"
require_relative "transaction"

module Penstock
  class Consumer
    # Runs a consumer's transactions: finds the transaction the caller is in, and decides where a mark is written. Part of
    # {Context}; any thread of the user's code may have one transaction.
    module Transacting
      # @param given [Producer, #with, nil] a producer, or a pool of them; nil: the consumer's own
      # @return [Object, nil] the block's return value; nil when it was aborted on purpose
      # @raise [TransactionAlreadyInitializedError] the caller is in one
      # @raise [UnsupportedCaseError] in a process of a pool
      def transaction(given, &block)
        refuse_transaction
        given ||= producer
        return given.with { |producer| transact(producer, &block) } if pool?(given)
        transact(given, &block)
      end

      # @return [Transaction, nil] the one whose block the caller is in
      def current_transaction = @transactions && @transactions[Fiber.current]

      private

      def refuse_transaction
        if current_transaction
          raise TransactionAlreadyInitializedError, "#{place} is already in a transaction, which includes everything it produces"
        end
        return if @loop_client.respond_to?(:claim)
        raise UnsupportedCaseError, "#{place} runs in a process of a pool, where there are no transactions: run it on :threads"
      end

      def pool?(given) = given.respond_to?(:with) && !given.respond_to?(:produce_async)

      def transact(producer, &block)
        marks = @lane.marks
        transaction = Transaction.new(@lane, @loop_client, producer, transacted_unit)
        within(transaction) { transaction.call(&block) }
      ensure
        marks.carried! if transaction&.carried
        tell_transaction(transaction) if transaction&.begun?
      end

      # In this order, and under the lock so that the unit can't end in between: a unit with a transaction can't simply
      # continue.
      # @return [Processing::Unit, nil] the one that runs
      def transacted_unit
        @lock.synchronize { (@unit if @running).tap { @transacted = true } }
      end

      # The lock is held for one operation on a Hash.
      def within(transaction)
        @lock.synchronize { (@transactions ||= {}.compare_by_identity)[Fiber.current] = transaction }
        yield
      ensure
        @lock.synchronize { @transactions.delete(Fiber.current) }
      end

      def tell_transaction(transaction)
        @loop_client.tell("consumer.consuming.transaction", {topic: @lane.topic_name, partition: partition, caller: consumer,
          producer_id: transaction.producer.id, outcome: transaction.outcome})
      end

      def mark_in(transaction, message, metadata)
        return transaction.mark(message, metadata) if transaction
        return unless marks.carried? && topic.manual_offset_management?
        raise NonTransactionalMarkingAttemptError, "#{message.uid} is marked outside of a transaction, records of #{place} " \
          "before it were marked inside: wrap it in `transaction { … }`, or nothing of the two is exactly once"
      end

      def place = "#{@lane.topic_name}/#{@lane.partition}"
    end
  end
end
