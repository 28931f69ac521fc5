# frozen_string_literal: true

require_relative "../../native"
require_relative "../../native/consumer"
require_relative "group/direct_consumer"
require_relative "../partition_search"

module Penstock
  module Runtime
    # Opens the connection of a subscription group: a native consumer that subscribes, or one whose partitions are assigned by
    # the route. Called on the loop's thread.
    #
    # librdkafka formats its statistics for all partitions at each interval, whether anybody reads them or not: by default a
    # connection has statistics only if somebody does.
    class Connector
      # librdkafka's default.
      REFRESH_MS = 300_000
      STATISTICS = "statistics.emitted"
      INTERVAL = "statistics.interval.ms"
      TOO_LATE = "connections were opened without statistics because no listener was subscribed to them: subscribe to " \
        "#{STATISTICS} before the application runs, or set #{INTERVAL} in config.kafka"
      private_constant :REFRESH_MS, :STATISTICS, :INTERVAL, :TOO_LATE

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
        driver = Native::Consumer.new(properties(group))
        driver.subscribe(group.subscription)
        driver
      rescue
        driver&.close(1_000)
        raise
      end

      # Somebody who subscribes later gets an error instead of nothing, until the application has ended.
      def properties(group)
        found = @properties.call(group)
        return found if group.kafka.key?(INTERVAL.to_sym) || statistics_used?(group)
        @process.monitor.too_late_for(STATISTICS, TOO_LATE)
        found.merge(INTERVAL => "0")
      end

      def statistics_used?(group)
        @process.monitor.subscribed?(STATISTICS) || group.topics.any? { |topic| topic.features[:inline_insights] }
      end

      def direct(group)
        properties = properties(group)
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
