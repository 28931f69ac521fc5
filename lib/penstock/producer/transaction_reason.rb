# frozen_string_literal: true

require_relative "../errors"
require_relative "off_thread"

module Penstock
  class Producer
    # Finds the error that has made librdkafka abandon the open transaction. From then on librdkafka drops the transaction's
    # messages and refuses its calls with errors that don't contain the reason: "Purged in queue", "Erroneous state". Stateless;
    # runs on the thread that has the transaction.
    module TransactionReason
      # Codes of the errors that hide the reason.
      HIDING = %i[state purge_queue purge_inflight].freeze
      private_constant :HIDING

      # Must only be called inside a transaction. librdkafka has no call that returns the reason, but it answers every call that
      # the state of a transaction doesn't allow with it; while a transaction is open, `begin_transaction` is never allowed.
      #
      # @param error [Exception] of a call inside the transaction
      # @param client [Native::Producer, Object]
      # @return [Exception] the reason; the error itself if it doesn't hide one
      def self.of(error, client)
        return error unless error.is_a?(KafkaError) && HIDING.include?(error.code) && !error.fatal?

        OffThread.call { client.begin_transaction }
        error
      rescue HandleClosedError, ForkedHandleError
        error
      rescue KafkaError => reason
        (reason.abortable? || reason.fatal?) ? reason : error
      end
    end
  end
end
