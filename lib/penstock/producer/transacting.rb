# frozen_string_literal: true

require_relative "../errors"
require_relative "courier"
require_relative "transactions"

module Penstock
  class Producer
    # Messages, and offsets, that become visible together or not at all. For producers with a `transactional.id`.
    #
    # Such a producer sends nothing outside of a transaction: a call outside of a block is one of its own, and waits for its
    # commit.
    module Transacting
      # Runs the block in a transaction and commits it at its end. One runs at a time: other threads and fibers wait for their
      # turn, also those that only produce. A block inside another's block belongs to that one's transaction.
      #
      # What the block raises aborts it and is raised again, but for {AbortTransaction}.
      #
      # @yieldparam transaction [Transaction] takes messages too, in this block alone
      # @return [Object, nil] what the block returns; nil when it was left by {AbortTransaction}
      # @raise [ProducerNotTransactionalError] it has no `transactional.id`
      # @raise [EarlyTransactionExitNotAllowedError] the block was left by return, break or throw: it is aborted
      # @raise [KafkaError] it could not begin, or was not committed; {FencedError} when another has taken over the id
      # @raise [WaitTimeoutError] the commit was not answered: it may be committed or not
      # @raise [ProducerClosedError, ForkedHandleError, ConfigurationError] the producer can't be used
      def transaction(&block)
        ensure_set_up
        unless transactional?
          raise ProducerNotTransactionalError, "the producer #{id} has no transactions: give it a transactional.id in its " \
            "config.kafka"
        end

        open = @transactions.current
        open ? yield(open) : @transactions.run(&block)
      end

      # @return [Boolean] whether the caller is inside of a transaction of this producer
      def transaction?
        @transactions ? !@transactions.current.nil? : false
      end

      # Makes the offset behind a record part of the transaction: it is committed for the group with the messages, or not.
      #
      # @param consumer [#group_metadata, Native::GroupMetadata] who consumed it
      # @param message [#topic, #partition, #offset]
      # @param offset_metadata [String, nil] kept with the offset
      # @return [void]
      # @raise [TransactionRequiredError] outside of a transaction
      # @raise [TransactionalOffsetInvalidError] the message has no offset, or the consumer no group
      # @raise [KafkaError] the group's coordinator refused it: the transaction can only be aborted
      def transaction_mark_as_consumed(consumer, message, offset_metadata = nil)
        unless transaction?
          raise TransactionRequiredError, "offsets are marked inside of a transaction: wrap it in `transaction { … }`"
        end

        offsets = [[*offset_behind(message), offset_metadata]]
        @transactions.send_offsets(offsets, group_of(consumer))
        instrument("transaction.marked_as_consumed", message: message, offset_metadata: offset_metadata)
      end

      # Offsets, with their metadata, become part of the transaction; for who keeps track of offsets himself.
      #
      # @api private
      # @param rows [Array<Array>] topic, partition, offset, metadata, leader epoch
      # @param group [Native::GroupMetadata]
      # @return [void]
      # @raise [KafkaError]
      def send_offsets(rows, group)
        @transactions.send_offsets(rows, group)
      end

      # @api private
      # @param transaction [Transaction]
      # @return [Symbol] what became of it, as far as that can be found out now: see {Transaction#fate}
      def settle_transaction(transaction)
        @transactions.settle(transaction)
      end

      # Ends what a former owner of its id has left open, without waiting for its first transaction.
      #
      # @api private
      # @return [void]
      def prepare_transactions
        @transactions&.prepare
      end

      private

      def ensure_set_up
        connect if status.initial?
      end

      # Called at setup.
      def make_transactions
        return unless transactional?

        @transactions = Transactions.new(config, Transactions::Port.new(client: -> { with_client { @client } },
          reload: method(:reload), sender: self))
        @courier = Courier.new { |messages| produce_many_prepared(messages, run: false, sync: true).map(&:create_result) }
      end

      # Runs what sends in a transaction of its own, unless it is in one.
      def in_transaction
        (@transactions.nil? || @transactions.current) ? yield : @transactions.run { yield }
      end

      # Many are one transaction: when it isn't committed, none was dispatched.
      def together(&block)
        in_transaction(&block)
      rescue ProduceManyError => error
        raise ProduceManyError.new(error.message, topic: error.topic, code: error.code), cause: error.cause
      end

      # Whether a call would have to begin one.
      def outside?
        @transactions && !@transactions.current
      end

      def offset_behind(message)
        parts = %i[topic partition offset]
        values = parts.map { |part| message.public_send(part) } if parts.all? { |part| message.respond_to?(part) }
        topic, partition, offset = values
        if topic.nil? || !partition.is_a?(Integer) || !offset.is_a?(Integer) || offset.negative?
          raise TransactionalOffsetInvalidError, "what is marked as consumed must be a record with topic, partition and " \
            "offset, is #{message.class}#{" with #{values.inspect[0, 80]}" if values}"
        end
        [topic.respond_to?(:name) ? topic.name : topic.to_s, partition, offset + 1]
      end

      def group_of(consumer)
        group = consumer.respond_to?(:group_metadata) ? consumer.group_metadata : consumer
        return group if group.is_a?(Native::GroupMetadata)

        raise TransactionalOffsetInvalidError, "whoever consumed must have `group_metadata` of its group, " \
          "#{consumer.class} has none"
      end
    end
  end
end
