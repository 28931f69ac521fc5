# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require "penstock/testing/cluster"
require_relative "running_contract"

module Penstock
  class RunningOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming

    RunningContract.add_to(self)
    include RunningContract

    class << self
      attr_reader :cluster

      def before_all
        @cluster = Testing::Cluster.start
      end

      def after_all
        @cluster.stop
      end
    end

    def kafka = self.class.cluster.kafka
    def create_topic(name, partitions) = self.class.cluster.create_topic(name, partitions: partitions)
  end
end
