# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require "penstock/admin"
require "penstock/testing/cluster"
require_relative "assignment_contract"

module Penstock
  class AssignmentOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include AssignmentContract

    AssignmentContract.add_to(self)

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
    # It describes no groups, and in a rebalance it may refuse a commit until the partition is somebody else's.
    def assert_members(_count) = nil
    def assert_once(_got) = nil
    def create_topic(name, partitions) = self.class.cluster.create_topic(name, partitions: partitions)
  end
end
