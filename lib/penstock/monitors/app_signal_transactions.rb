# frozen_string_literal: true

module Penstock
  module Monitors
    # Makes each call of `consume`, `eofed`, `tick`, `revoked` and `shutdown` a transaction of AppSignal, named
    # `OrdersConsumer#consume`. A wrapper around user code (`middleware { around_user_code … }`).
    #
    # The name is set at the end, so that AppSignal's instrumentation of Active Job can name the job instead. Errors are added
    # by {ErrorTracker} while the call runs. AppSignal keeps the current transaction per fiber. Stateless.
    class AppSignalTransactions
      ACTIONS = %i[consume eofed tick revoked shutdown].freeze
      private_constant :ACTIONS

      # @param namespace [String] of the transactions
      def initialize(namespace)
        @namespace = namespace
      end

      # @param topic [Routing::Topic]
      # @param action [Symbol]
      # @return [Object] what the block returns
      def call(topic, action)
        return yield unless ACTIONS.include?(action)
        transaction = ::Appsignal::Transaction.create(@namespace)
        begin
          yield
        ensure
          complete(transaction, topic, action)
        end
      end

      private

      def complete(transaction, topic, action)
        transaction.set_action_if_nil("#{topic.features[:consumer]}##{action}")
        transaction.add_tags(topic: topic.name, consumer_group: topic.consumer_group_id)
        ::Appsignal::Transaction.complete_current!
      end
    end
  end
end
