# frozen_string_literal: true

require_relative "../../native"
require_relative "../../native/consumer"
require_relative "group/direct_consumer"
require_relative "../partition_search"

module Penstock
  module Runtime
    # Opens the connection of a subscription group: a native consumer that subscribes, or one whose partitions are assigned by
    # the route. Called on the loop's thread.
    class Connector
      # librdkafka's default.
      REFRESH_MS = 300_000
      private_constant :REFRESH_MS

      # @param process [ProcessContext]
      # @param properties [#call] returns librdkafka's settings of a group
      def initialize(process, properties)
        @process = process
        @properties = properties
      end

      # @param group [Routing::SubscriptionGroup]
      # @return [Native::Consumer]
      def call(group)
        group.direct? ? direct(group) : subscribed(group)
      end

      private

      def subscribed(group)
        driver = Native::Consumer.new(@properties.call(group))
        driver.subscribe(group.subscription)
        driver
      rescue
        driver&.close(1_000)
        raise
      end

      def direct(group)
        properties = @properties.call(group)
        driver = DirectConsumer.new(properties)
        refresh_ms = Integer(properties.fetch("topic.metadata.refresh.interval.ms", REFRESH_MS))
        driver.search = PartitionSearch.new(group, driver, @process.reporter,
          interval_ms: refresh_ms.positive? ? refresh_ms : REFRESH_MS)
        @process.threads.start("penstock partitions") { driver.search.run }
        driver
      end
    end
  end
end
