# frozen_string_literal: true

module Penstock
  module TestSupport
    # The server.properties of one node of a test cluster: broker and controller in one (KRaft), everything replicated
    # three times, short timeouts.
    #
    # Brokers advertise the address of the fault proxy to clients. Brokers connect to each other, and tests that bypass
    # the proxy connect to brokers, through a listener of their own.
    class NodeProperties
      NETWORK = {"num.network.threads" => 2, "num.io.threads" => 3, "num.replica.fetchers" => 1,
                 "background.threads" => 2}.freeze
      REPLICATION = {
        "default.replication.factor" => 3, "min.insync.replicas" => 2, "unclean.leader.election.enable" => false,
        "offsets.topic.replication.factor" => 3, "transaction.state.log.replication.factor" => 3,
        "transaction.state.log.min.isr" => 2, "share.coordinator.state.topic.replication.factor" => 3,
        "share.coordinator.state.topic.min.isr" => 2
      }.freeze
      # Each partition of an internal topic costs files and start-up time, so there are few of them; but enough that
      # groups have different coordinators.
      COUNTS = {"num.partitions" => 6, "offsets.topic.num.partitions" => 6, "transaction.state.log.num.partitions" => 6,
                "share.coordinator.state.topic.num.partitions" => 2}.freeze
      # How soon the cluster notices that a broker is gone.
      FAILOVER = {"broker.session.timeout.ms" => 6_000, "broker.heartbeat.interval.ms" => 1_000,
                  "replica.lag.time.max.ms" => 10_000, "controlled.shutdown.enable" => true}.freeze
      GROUPS = {
        "group.initial.rebalance.delay.ms" => 0, "group.min.session.timeout.ms" => 1_000,
        "group.coordinator.rebalance.protocols" => "classic,consumer,share",
        "group.consumer.min.session.timeout.ms" => 2_000, "group.consumer.min.heartbeat.interval.ms" => 200,
        "group.consumer.heartbeat.interval.ms" => 1_000
      }.freeze
      # Nothing is deleted for its age, because records of tests may have any timestamp. Indexes are small, as each is a
      # file.
      STORAGE = {"log.retention.ms" => -1, "log.index.size.max.bytes" => 262_144, "log.segment.bytes" => 104_857_600,
                 "log.cleaner.dedupe.buffer.size" => 4_194_304, "message.max.bytes" => 4_000_000,
                 "replica.fetch.max.bytes" => 4_194_304, "transaction.max.timeout.ms" => 900_000}.freeze

      # @param node [Integer]
      # @param ports [Hash{Symbol => Integer}] client, internal, controller; and public, which is advertised to clients
      # @param voters [Hash{Integer => Integer}] controller port of each node
      # @param extra [Hash{String => Object}] overrides everything else
      def initialize(node:, ports:, voters:, data:, extra: {})
        @node = node
        @ports = ports
        @voters = voters
        @data = data
        @extra = extra
      end

      def to_s = to_h.map { |name, value| "#{name}=#{value}\n" }.join

      def to_h
        {"process.roles" => "broker,controller", "node.id" => @node, "log.dirs" => @data}
          .merge(addresses, NETWORK, REPLICATION, COUNTS, FAILOVER, GROUPS, STORAGE, @extra.transform_keys(&:to_s))
      end

      private

      def addresses
        {
          "listeners" => "CLIENT://#{at(:client)},INTERNAL://#{at(:internal)},CONTROLLER://#{at(:controller)}",
          "advertised.listeners" => "CLIENT://#{at(:public)},INTERNAL://#{at(:internal)}",
          "listener.security.protocol.map" => "CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
          "inter.broker.listener.name" => "INTERNAL", "controller.listener.names" => "CONTROLLER",
          "controller.quorum.voters" => @voters.map { |node, port| "#{node}@127.0.0.1:#{port}" }.join(",")
        }
      end

      def at(name) = "127.0.0.1:#{@ports.fetch(name)}"
    end
  end
end
