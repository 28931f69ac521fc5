# frozen_string_literal: true

require_relative "../native"
require_relative "batch"
require_relative "group_metadata"
require_relative "handles"

module Penstock
  module Native
    # A member of a group, built on librdkafka. It belongs to one thread, the poll loop: only {#wakeup}, the cached values, the
    # queries (`query_watermarks`, `offsets_for_times`, `metadata`, `cluster_id`) and {#close} may be called by others; a
    # second thread in the loop's calls gets an InternalError instead of a race. It ends with {#close}, or with `discard!` in a
    # forked child.
    #
    # A round of the loop: `wait`, then `poll_event` until it returns nil (Kafka's `max.poll.interval.ms` measures this part,
    # not the wait), then `take` from the lanes that are ready. `take` and `poll_event` return what is available and never
    # block.
    class Consumer
      # @return [Array<Thread::Backtrace::Location>] where it was opened
      attr_reader :opened_at

      # Connects to nothing yet: the brokers are contacted in the background.
      #
      # @param conf [Hash{String=>String}] librdkafka's properties; `group.id` is required
      # @raise [KafkaError] for a property librdkafka refuses
      def initialize(conf)
        @opened_at = caller_locations(2, 8)
        open_handle(conf)
        Handles.opened(self)
      end

      # Stands for every partition of its topic in {#fetch_committed}.
      ALL_PARTITIONS = -1

      # Requests the offsets that the group has committed, from the coordinator that this member knows; if the coordinator
      # moves or dies, the next one is asked. The answer is a `:committed` event with the token.
      #
      # An offset that an open transaction holds has the error UNSTABLE_OFFSET_COMMIT. (librdkafka without our patches waits
      # for the transaction instead, and only when the connection reads committed records.)
      #
      # @param token [Integer] returned with the answer
      # @param partitions [Array<(String, Integer)>] topic and partition, or {ALL_PARTITIONS}
      # @param timeout_ms [Integer] ms after which the answer is an error
      # @return [true]
      # @raise [KafkaError] the consumer is closed, or no thread could be created for the request
      def fetch_committed(token, partitions, timeout_ms:)
        request_committed(token, partitions, timeout_ms)
      end

      # Called by a {Bearer} with a token.
      #
      # @param lifetime_ms [Integer] when it expires, in milliseconds since 1970
      # @param extensions [Hash{String => String}, nil] SASL extensions (KIP-342)
      # @return [void]
      # @raise [KafkaError] librdkafka refuses it
      def oauthbearer_set_token(token:, lifetime_ms:, principal_name:, extensions: nil)
        number, message = set_token(token, lifetime_ms, principal_name, extensions)
        raise Native.error_for(number, message) if number
      end

      # Called by a {Bearer} when there is no token.
      #
      # @param reason [String]
      # @return [void]
      def oauthbearer_set_token_failure(reason)
        set_token_failure(reason)
      end

      # @return [String] never contains the configuration, which holds secrets
      def inspect
        "#<#{self.class} #{state} pid=#{pid}>"
      end
    end
  end
end
