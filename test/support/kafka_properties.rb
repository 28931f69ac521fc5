# frozen_string_literal: true

module Penstock
  module TestSupport
    # The server.properties of one broker that is its own controller (KRaft), with short waits for tests.
    class KafkaProperties
      Listener = Struct.new(:name, :port, :protocol, keyword_init: true)

      # @param port [Integer] of the plaintext listener
      # @param listeners [Array<Listener>] further ones, for instance SASL_SSL
      # @param extra [Hash{String => Object}] overrides everything else
      def initialize(port:, controller_port:, data:, listeners: [], extra: {})
        @controller_port = controller_port
        @data = data
        @listeners = [Listener.new(name: "PLAINTEXT", port: port, protocol: "PLAINTEXT"), *listeners]
        @extra = extra
      end

      def to_h
        node.merge(addresses, single_broker, quick, @extra.transform_keys(&:to_s))
      end

      def to_s
        to_h.map { |name, value| "#{name}=#{value}\n" }.join
      end

      private

      def node
        {"process.roles" => "broker,controller", "node.id" => 1, "log.dirs" => @data}
      end

      def addresses
        controller = "CONTROLLER://127.0.0.1:#{@controller_port}"
        {
          "listeners" => [*urls, controller].join(","),
          "advertised.listeners" => urls.join(","),
          "listener.security.protocol.map" => [*protocols, "CONTROLLER:PLAINTEXT"].join(","),
          "controller.listener.names" => "CONTROLLER",
          "controller.quorum.voters" => "1@127.0.0.1:#{@controller_port}",
          "inter.broker.listener.name" => "PLAINTEXT"
        }
      end

      def urls
        @listeners.map { |listener| "#{listener.name}://127.0.0.1:#{listener.port}" }
      end

      def protocols
        @listeners.map { |listener| "#{listener.name}:#{listener.protocol}" }
      end

      # With one broker nothing can be replicated.
      def single_broker
        {
          "offsets.topic.replication.factor" => 1,
          "transaction.state.log.replication.factor" => 1,
          "transaction.state.log.min.isr" => 1,
          "share.coordinator.state.topic.replication.factor" => 1,
          "share.coordinator.state.topic.min.isr" => 1
        }
      end

      # A test group starts at once and may have short sessions. Internal topics stay small, as each of their partitions
      # costs files and start-up time. Nothing is deleted for its age, because records of tests may have any timestamp.
      def quick
        {
          "group.initial.rebalance.delay.ms" => 0,
          "group.min.session.timeout.ms" => 1_000,
          "group.consumer.min.session.timeout.ms" => 1_000,
          "group.consumer.min.heartbeat.interval.ms" => 100,
          "group.consumer.heartbeat.interval.ms" => 1_000,
          "group.coordinator.rebalance.protocols" => "classic,consumer,share",
          "offsets.topic.num.partitions" => 4,
          "transaction.state.log.num.partitions" => 4,
          "share.coordinator.state.topic.num.partitions" => 4,
          "auto.create.topics.enable" => true,
          "num.partitions" => 1,
          "log.retention.ms" => -1,
          "log.cleaner.dedupe.buffer.size" => 4 * 1024 * 1024
        }
      end
    end
  end
end
