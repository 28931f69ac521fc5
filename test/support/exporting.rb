# frozen_string_literal: true

require "logger"
require "penstock"

module Penstock
  module TestSupport
    # An application whose events a test publishes by hand, to see what an exporter of metrics makes of them.
    module Exporting
      Topic = Struct.new(:consumer_group_id)
      # The consumer of an event.
      Caller = Struct.new(:topic)

      def setup
        super
        @app = Class.new(Penstock::App) { default false }
        @app.setup do |config|
          config.logger = Logger.new(nil)
          config.monitor = Instrumentation::Monitor.new(strict: true)
        end
        @listener_errors = []
        @app.monitor.subscribe("error.occurred") do |event|
          @listener_errors << event[:error] if event[:type] == "instrumentation.listener.error"
        end
      end

      def teardown
        assert_empty @listener_errors
        super
      end

      def publish(name, **payload) = @app.monitor.instrument(name, payload)

      # A call of consume that took 30 ms.
      def consumed(count = 3, topic: "orders", **more)
        publish("consumer.consumed", topic: topic, partition: 0, first_offset: 7, last_offset: 6 + count, messages_count: count,
          attempt: 1, time: 30, caller: Caller.new(Topic.new("shop")), **more)
      end

      def failed(error, topic: "orders") = publish("error.occurred", type: "consumer.consume.error", error: error, topic: topic)

      # @param lags [Hash{Integer => Integer}] of the partitions of orders
      def statistics(lags)
        partitions = lags.to_h { |number, lag| [number.to_s, {"consumer_lag" => lag, "fetch_state" => "active"}] }
        publish("statistics.emitted", statistics: {"topics" => {"orders" => {"partitions" => partitions}}},
          subscription_group_id: "sg", consumer_group_id: "shop")
      end

      Node = Struct.new(:id)

      def become_node(index) = publish("swarm.node.after_fork", node: Node.new(index), pid: 1)

      # Errors of more classes than a label has values.
      def fail_with_many_classes(count = 10_000)
        count.times do |number|
          klass = Class.new(StandardError) { define_singleton_method(:name) { "Error#{number}" } }
          failed(klass.new)
        end
      end

      # @return [Array<String>] the classes of errors that have a series, then what is left
      def bounded = [*Array.new(100) { |number| "Error#{number}" }, "other"]
    end
  end
end
