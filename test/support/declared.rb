# frozen_string_literal: true

require "penstock/declaratives/cluster_state"
require "penstock/declaratives/plan"
require "penstock/declaratives/topic"

module Penstock
  module TestSupport
    # Builds declared topics and states of a cluster.
    module Declared
      include Penstock::Declaratives

      ClusterState = Penstock::Declaratives::ClusterState

      def wanted(name = "orders", partitions: 6, replication_factor: 3, config: {}, **more)
        Penstock::Declaratives::Topic.new(name: name, partitions: partitions, replication_factor: replication_factor,
          config: config, protected: false, **more)
      end

      # @param config [Hash] values, or settings
      def present(name = "orders", partitions: 6, replication_factor: 3, under_replicated: 0, offline: 0, config: {})
        settings = config.transform_values { |value| value.is_a?(String) ? setting(value) : value }
        ClusterState::Topic.new(name: name, partitions: partitions, replication_factor: replication_factor, config: settings,
          under_replicated: under_replicated, offline: offline)
      end

      def setting(value, own: false, sensitive: false, synonyms: [])
        ClusterState::Setting.new(value: value, own: own, sensitive: sensitive, synonyms: synonyms)
      end

      def cluster(*topics, id: "c1", brokers: 3)
        ClusterState.new(cluster_id: id, brokers: brokers, topics: topics.to_h { |topic| [topic.name, topic] })
      end
    end
  end
end
