# frozen_string_literal: true

require "penstock/testing/cluster"

module Penstock
  module TestSupport
    # An embedded broker for all tests of a class. Included after {Consuming}: the broker itself creates topics, and
    # knows them at once.
    module EmbeddedBroker
      # Starts the broker before the class's first test and stops it after the last. A class may define the topics that
      # exist from the start.
      module OnePerClass
        attr_reader :cluster

        def topics = {}

        def before_all
          @cluster = Testing::Cluster.start(topics: topics)
        end

        def after_all
          @cluster.stop
        end
      end

      def self.included(base) = base.extend(OnePerClass)

      def kafka = self.class.cluster.kafka
      def create_topic(name, partitions) = self.class.cluster.create_topic(name, partitions: partitions)
    end
  end
end
