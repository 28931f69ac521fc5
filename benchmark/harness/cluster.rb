# frozen_string_literal: true

require_relative "../../test/support/kafka_cluster"
require_relative "broker"

module Bench
  # Three brokers of a run (replication 3, two in sync) that fail on request. Started from KAFKA_HOME on free ports,
  # ended with the run. Clients connect to the brokers themselves, without the fault proxy that tests put in front of
  # them.
  class Cluster
    BROKERS = 3

    attr_reader :home

    # @yieldparam cluster [Cluster] healthy
    def self.open
      cluster = new
      yield cluster
    ensure
      cluster&.stop
    end

    def initialize
      @home = Penstock::TestSupport::KafkaCluster.home
      obstacle = Penstock::TestSupport::KafkaCluster.obstacle(@home)
      raise Broker::Missing, "three brokers can't be started: #{obstacle}" if obstacle

      @cluster = Penstock::TestSupport::KafkaCluster.new(name: "bench-#{::Process.pid}", brokers: BROKERS, home: @home)
      # Brokers are part of what is measured.
      @cluster.nodes.each_value { |node| node.niceness = 0 }
      # Processes of this run end with the cluster's watchdog, even if the run is killed.
      ENV.update(@cluster.env)
      @cluster.start
    rescue
      stop
      raise
    end

    def bootstrap = @cluster.direct_servers

    def stop = @cluster&.close

    def version = "#{Broker.version_of(home)}, #{BROKERS} brokers"

    # @return [nil] not measured: the brokers are restarted during a run
    def cpu_seconds = nil

    # Waits until all brokers run and all replicas are in sync; preferred leaders lead.
    def heal = @cluster.heal

    # Stops a broker in order: its leaders move first.
    def stop_broker(id) = @cluster.stop_node(id)

    # kill -9
    def kill_broker(id) = @cluster.nodes.fetch(id).kill

    # Starts it; returns when it answers.
    def start_broker(id) = @cluster.start_node(id)

    def create_topic(name, partitions:) = @cluster.create_topic(name, partitions: partitions)

    # @return [Integer] records of a topic without transactions
    def records(topic) = @cluster.agent.call(:end_offsets, topic: topic).values.sum

    # @return [Integer] id of the broker that coordinates the group
    def coordinator(group) = @cluster.coordinator(group)

    # The offsets topic exists once the first group does; its leaders are the coordinators.
    def warm_up
      @cluster.agent.call(:alter_offsets, group: "bench-warm", topic: create_topic("bench-warm", partitions: 1), partition: 0,
        offset: 0)
    end
  end
end
