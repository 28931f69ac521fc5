# frozen_string_literal: true

require_relative "../native"
require_relative "handles"

module Penstock
  module Native
    # librdkafka's mock cluster: a small Kafka in the memory of this process, reachable on 127.0.0.1. For tests that need a
    # broker without a separate process; everything else uses the embedded broker, which runs one of these.
    #
    # It owns its threads until {#close}, which may be called more than once. Methods may be called from any thread. A forked
    # child can't use its parent's.
    #
    # Limits of the mock: a partition keeps the newest 5 MiB or 100,000 batches; an empty fetch waits its full time; no
    # administration requests, no SASL.
    class MockCluster
      # Requests by name, for the methods that inject errors.
      API_KEYS = {
        produce: 0, fetch: 1, list_offsets: 2, metadata: 3, offset_commit: 8, offset_fetch: 9, find_coordinator: 10,
        join_group: 11, heartbeat: 12, leave_group: 13, sync_group: 14, api_versions: 18, init_producer_id: 22,
        offset_for_leader_epoch: 23, add_partitions_to_txn: 24, add_offsets_to_txn: 25, end_txn: 26,
        txn_offset_commit: 28, consumer_group_heartbeat: 68, get_telemetry_subscriptions: 71, push_telemetry: 72,
        share_group_heartbeat: 76, share_fetch: 78, share_acknowledge: 79
      }.freeze
      private_constant :API_KEYS

      # @param brokers [Integer] 1 to 64; their ids are 1, 2, …
      def initialize(brokers: 1)
        listen(brokers)
        Handles.opened(self)
      end

      # @param name [String]
      # @param partitions [Integer]
      # @param replication_factor [Integer]
      # @raise [KafkaError] `:topic_already_exists`
      def create_topic(name, partitions, replication_factor = 1)
        topic_create(name, partitions, replication_factor)
      end

      # @raise [KafkaError] `:unknown_topic_or_part`
      def delete_topic(name)
        topic_delete(name)
      end

      # Makes metadata requests answer with this error for the topic; nil ends it.
      # @param error [Integer, Symbol, nil] librdkafka's number or name (`:topic_authorization_failed`)
      def set_topic_error(name, error)
        topic_error(name, error ? error_number(error) : 0)
      end

      # The next requests of this kind, whichever broker they go to, are answered with these errors, one each.
      # @param api [Symbol, Integer] `:produce`, `:offset_commit`, … or the protocol's key
      # @param errors [Array<Integer, Symbol>] 0 for "no error this time"
      def push_request_errors(api, errors)
        push_errors(api_key(api), errors.map { |error| error_number(error) })
      end

      # The same for one broker, with the duration of each answer.
      # @param errors [Array<(Integer or Symbol, Integer)>] pairs of error and round trip in ms
      def push_broker_request_errors(broker, api, errors)
        errors.each { |error, rtt_ms| push_error_rtt(broker, api_key(api), error_number(error), rtt_ms) }
      end

      # Removes pushed errors for this kind of request that haven't been used yet.
      def clear_request_errors(api)
        clear_errors(api_key(api))
      end

      # How long a new classic group waits for more members before its first assignment, in ms (default 3,000).
      def group_initial_rebalance_delay=(delay_ms)
        rebalance_delay(delay_ms)
      end

      # Times that the broker sets for members of KIP-848 groups, in ms.
      def consumer_group_times(session_timeout_ms:, heartbeat_interval_ms:)
        group_times(session_timeout_ms, heartbeat_interval_ms)
      end

      # Starts counting requests, see {#requests}.
      # @param on [Boolean]
      def track_requests(on = true)
        track(on)
      end

      # @return [Array<(Integer, Symbol or Integer, Integer)>] broker, kind and time in ms of each request since
      #   {#track_requests}
      def requests
        names = API_KEYS.invert
        tracked.map { |broker, key, time| [broker, names.fetch(key, key), time] }
      end

      # @return [String]
      def inspect
        "#<#{self.class} #{closed? ? "closed" : bootstrap_servers}>"
      end

      private

      def api_key(api)
        return api if api.is_a?(Integer)

        API_KEYS.fetch(api) { raise ArgumentError, "unknown request #{api.inspect}, known: #{API_KEYS.keys.join(", ")}" }
      end

      def error_number(error)
        Native.error_number(error)
      end
    end
  end
end
