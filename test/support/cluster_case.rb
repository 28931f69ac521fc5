# frozen_string_literal: true

require_relative "kafka_cluster"
require_relative "test_case"

module Penstock
  module TestSupport
    # Included by tests that need three brokers. The brokers are started once for all tests of the process, and each
    # test begins with a healthy cluster.
    module ClusterCase
      # Brokers are stopped and started by the tests of a class, and keep running for the tests of the next class.
      module NoLeaks
        private

        def report_class_leaks(_reporter, _found)
        end
      end

      def self.included(base)
        base.leaks_checked_per_class("the brokers, and the connections to them, are shared by all tests of the process")
        base.extend(NoLeaks)
      end

      def self.cluster
        @cluster ||= KafkaCluster.new(name: "test-#{::Process.pid}").tap do |cluster|
          Minitest.after_run { cluster.close }
          cluster.start
        end
      end

      def setup
        super
        obstacle = KafkaCluster.obstacle
        skip "no cluster: #{obstacle}" if obstacle
        ClusterCase.cluster.heal
      end

      def cluster = ClusterCase.cluster
    end
  end
end
