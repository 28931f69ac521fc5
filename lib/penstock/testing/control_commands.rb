# frozen_string_literal: true

require_relative "../native/admin"
require_relative "../native/mock_cluster"

module Penstock
  module Testing
    # Runs the commands of an embedded broker's control socket on the mock cluster in the same process. Called by one
    # thread. Arguments are Strings and numbers, as in JSON.
    class ControlCommands
      COMMANDS = %w[
        ping create delete list describe errors clear_errors topic_error rtt broker_down broker_up
        delete_records leader coordinator group_times track requests stop
      ].freeze
      QUERY_MS = 5_000
      private_constant :COMMANDS, :QUERY_MS

      # @param cluster [Native::MockCluster]
      # @param brokers [Integer] number of brokers
      # @param partitions [Integer] of a topic created without a number
      def initialize(cluster, brokers:, partitions:)
        @cluster = cluster
        @brokers = brokers
        @partitions = partitions
        @finished = false
      end

      # @return [Boolean] true after `stop` was called
      def finished?
        @finished
      end

      # @param command [String]
      # @param arguments [Hash{String=>Object}]
      # @raise [KafkaError] the error that Kafka would have returned
      # @raise [ArgumentError, KeyError] for an unknown command or a missing argument
      def call(command, arguments)
        raise ArgumentError, "unknown command #{command}, known: #{COMMANDS.join(", ")}" unless COMMANDS.include?(command)

        send(command, arguments)
      end

      # Ends the connection that `list` and `describe` use.
      def close
        @admin&.close
      end

      private

      def ping(_arguments)
        {"pid" => ::Process.pid, "bootstrap_servers" => @cluster.bootstrap_servers}
      end

      def create(arguments)
        replicas = arguments["replication_factor"].to_i.clamp(1, @brokers)
        @cluster.create_topic(arguments.fetch("topic"), arguments["partitions"] || @partitions, replicas)
      end

      def delete(arguments)
        @cluster.delete_topic(arguments.fetch("topic"))
      end

      # Topics created on demand are known only to the mock, so the cluster is queried like a client would.
      def list(_arguments)
        admin.metadata(nil, QUERY_MS)[:topics].transform_values { |topic| topic[:partitions].size }
      end

      def describe(arguments)
        topic = arguments.fetch("topic")
        found = admin.metadata(topic, QUERY_MS)[:topics].fetch(topic)
        raise Native.error_for(found[:error], topic) unless found[:error].zero?

        found[:partitions].to_h do |id, partition|
          low, high = admin.watermarks(topic, id, QUERY_MS)
          [id, {"leader" => partition[:leader], "low" => low, "high" => high}]
        end
      end

      def errors(arguments)
        api = api_of(arguments)
        errors = arguments.fetch("errors").map { |error| number_of(error) }
        return @cluster.push_request_errors(api, errors) unless arguments["broker"] || arguments["rtt_ms"]

        rtt_ms = arguments["rtt_ms"] || 0
        each_broker(arguments) do |broker|
          @cluster.push_broker_request_errors(broker, api, errors.map { |error| [error, rtt_ms] })
        end
      end

      def clear_errors(arguments)
        @cluster.clear_request_errors(api_of(arguments))
      end

      def topic_error(arguments)
        error = arguments["error"]
        @cluster.set_topic_error(arguments.fetch("topic"), error && number_of(error))
      end

      def rtt(arguments)
        each_broker(arguments) { |broker| @cluster.set_rtt(broker, arguments.fetch("rtt_ms")) }
      end

      def broker_down(arguments)
        each_broker(arguments) { |broker| @cluster.broker_down(broker) }
      end

      def broker_up(arguments)
        each_broker(arguments) { |broker| @cluster.broker_up(broker) }
      end

      def delete_records(arguments)
        @cluster.delete_records(*arguments.values_at("topic", "partition", "before_offset"))
      end

      def leader(arguments)
        @cluster.partition_leader(*arguments.values_at("topic", "partition", "broker"))
      end

      def coordinator(arguments)
        @cluster.coordinator(*arguments.values_at("type", "key", "broker"))
      end

      def group_times(arguments)
        delay_ms = arguments["initial_rebalance_delay_ms"]
        @cluster.group_initial_rebalance_delay = delay_ms if delay_ms
        session_ms, heartbeat_ms = arguments.values_at("session_timeout_ms", "heartbeat_interval_ms")
        return unless session_ms && heartbeat_ms

        @cluster.consumer_group_times(session_timeout_ms: session_ms, heartbeat_interval_ms: heartbeat_ms)
      end

      def track(arguments)
        @cluster.track_requests(arguments.fetch("on"))
      end

      def requests(_arguments)
        @cluster.requests
      end

      def stop(_arguments)
        @finished = true
      end

      def each_broker(arguments, &block)
        broker = arguments["broker"]
        (broker ? [broker] : 1..@brokers).each(&block)
        nil
      end

      def api_of(arguments)
        api = arguments.fetch("api")
        api.is_a?(Integer) ? api : api.to_sym
      end

      def number_of(error)
        error.is_a?(Integer) ? error : Native.error_number(error)
      end

      def admin
        @admin ||= Native::Admin.new("bootstrap.servers" => @cluster.bootstrap_servers, "client.id" => "control")
      end
    end
  end
end
