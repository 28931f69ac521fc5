# frozen_string_literal: true

require_relative "../native"
require_relative "batch"
require_relative "group_metadata"
require_relative "handles"

module Penstock
  module Native
    # A member of a group, over librdkafka. It belongs to one thread, the poll loop: only {#wakeup}, the cached facts,
    # the queries (`query_watermarks`, `offsets_for_times`, `metadata`, `cluster_id`) and {#close} may come from others;
    # a second thread in the loop's calls gets an InternalError instead of a race. It ends with {#close}, or with
    # `discard!` where it was inherited.
    #
    # A round of the loop: `wait`, then `poll_event` until it answers nil (this is what Kafka's `max.poll.interval.ms`
    # counts, waiting isn't), then `take` from the lanes that are ready. `take` and `poll_event` answer what is there and
    # never wait.
    class Consumer
      # @return [Array<Thread::Backtrace::Location>] where it was opened
      attr_reader :opened_at

      # Connects to nothing yet: the brokers are contacted in the background.
      #
      # @param conf [Hash{String=>String}] librdkafka's properties; `group.id` is needed
      # @raise [KafkaError] for a property librdkafka refuses
      def initialize(conf)
        @opened_at = caller_locations(2, 8)
        open_handle(conf)
        Handles.opened(self)
      end

      # Stands for every partition of its topic in {#fetch_committed}.
      ALL_PARTITIONS = -1

      # Requests the offsets that the group has committed, from the coordinator that this member knows; when it moves or dies the
      # next one is asked. The answer is a `:committed` event with the token.
      #
      # An offset that an open transaction holds comes with UNSTABLE_OFFSET_COMMIT as its error. (A librdkafka without our patches
      # waits for it instead, and only when the connection reads committed records.)
      #
      # @param token [Integer] comes back with the answer
      # @param partitions [Array<(String, Integer)>] topic and partition, or {ALL_PARTITIONS}
      # @param timeout_ms [Integer] ms until the answer is an error
      # @return [true]
      # @raise [KafkaError] the consumer is closed, or there can be no thread for the request
      def fetch_committed(token, partitions, timeout_ms:)
        request_committed(token, partitions, timeout_ms)
      end

      # What a {Bearer} calls with a token.
      #
      # @param lifetime_ms [Integer] when it expires, in milliseconds since 1970
      # @param extensions [Hash{String => String}, nil] SASL extensions (KIP-342)
      # @return [void]
      # @raise [KafkaError] librdkafka refuses it
      def oauthbearer_set_token(token:, lifetime_ms:, principal_name:, extensions: nil)
        number, message = set_token(token, lifetime_ms, principal_name, extensions)
        raise Native.error_for(number, message) if number
      end

      # What a {Bearer} calls when there is no token.
      #
      # @param reason [String]
      # @return [void]
      def oauthbearer_set_token_failure(reason)
        set_token_failure(reason)
      end

      # @return [String] never with the configuration, which holds secrets
      def inspect
        "#<#{self.class} #{state} pid=#{pid}>"
      end
    end
  end
end
