# frozen_string_literal: true

require "test_helper"
require "penstock/testing/cluster"
require "support/killers/scenarios"
require "support/real_broker"

module Penstock
  class KillersOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include KillersScenarios

    KillersScenarios.add_to(self)

    def kafka = {"bootstrap.servers": bootstrap_servers}

    def create_topic(name, partitions)
      admin = Native::Admin.new({"bootstrap.servers" => bootstrap_servers})
      admin.create_topics([[name, partitions, 1, {}]], 20_000)
    ensure
      admin&.close
    end
  end

  class KillersOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include KillersScenarios

    KillersScenarios.add_to(self)

    class << self
      attr_reader :cluster

      def before_all = @cluster = Testing::Cluster.start
      def after_all = @cluster.stop
    end

    def kafka = self.class.cluster.kafka
    def create_topic(name, partitions) = self.class.cluster.create_topic(name, partitions: partitions)
  end
end
