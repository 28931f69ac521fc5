# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/instrumentation/statistics"
require "penstock/monitors/datadog_producer"
require "penstock/producer"

module Penstock
  class DatadogProducerTest < TestCase
    # Keeps what it received: kind, name, value, tags.
    class Statsd
      attr_reader :told

      def initialize = @told = []

      %i[count histogram gauge].each { |name|
        define_method(name) { |metric, value, tags:|
          @told << [name, metric, value, tags]
        }
      }
      def names = @told.map { |_, name| name }.uniq
    end

    BROKER = {"nodeid" => 1, "nodename" => "b:9092", "txretries" => 3, "txerrs" => 1, "rxerrs" => 0,
              "outbuf_latency" => {"avg" => 5, "p95" => 6, "p99" => 7}, "rtt" => {"avg" => 8, "p95" => 9, "p99" => 10}}.freeze

    def setup
      @statsd = Statsd.new
      @producer = Producer.new do |config|
        config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
        config.deliver = false
      end
      @listener = Monitors::DatadogProducer.new(client: @statsd, default_tags: ["env:test"])
      @producer.monitor.subscribe(@listener)
    end

    def statistics(tx)
      own = {"tx" => tx, "msg_cnt" => 4,
             "brokers" => {"b" => BROKER.merge("txretries" => tx), "seed" => BROKER.merge("nodeid" => -1)}}
      @statistics ||= Instrumentation::Statistics.new
      @producer.monitor.instrument("statistics.emitted", producer_id: "p", statistics: @statistics.call(JSON.generate(own)))
    end

    test "[Datadog names] each metric of the statistics is sent, those of brokers with their name" do
      statistics(10)
      statistics(25)

      %w[calls queue.size deliver.attempts deliver.errors receive.errors queue.latency.avg queue.latency.p95 queue.latency.p99
        network.latency.avg network.latency.p95 network.latency.p99].each { |name|
        assert_includes @statsd.names,
          "penstock.#{name}"
      }
      assert_includes @statsd.told, [:count, "penstock.calls", 15, ["env:test"]]
      assert_includes @statsd.told, [:count, "penstock.deliver.attempts", 15, ["env:test", "broker:b:9092"]]
      assert_includes @statsd.told, [:gauge, "penstock.network.latency.p99", 10, ["env:test", "broker:b:9092"]]
      assert_includes @statsd.told, [:histogram, "penstock.queue.size", 4, ["env:test"]]
      assert_equal 2, @statsd.told.count { |_, name| name == "penstock.receive.errors" }, "an unknown broker has none"
    end

    test "[Datadog names] what is produced, flushed, buffered and failed is counted, by topic" do
      message = {topic: "orders", payload: "x"}
      @producer.produce_sync(message)
      @producer.produce_async(message)
      @producer.produce_many_sync([message, message])
      2.times { @producer.buffer(message) }
      @producer.flush_sync
      @producer.buffer_many([message])
      @producer.flush_async
      @producer.monitor.instrument("message.acknowledged", producer_id: "p", topic: "orders", partition: 0, offset: 0,
        delivery_report: nil, label: nil)
      @producer.monitor.instrument("error.occurred", type: "librdkafka.error", error: StandardError.new)

      counts = @statsd.told.map { |_, name, _, tags| [name, tags.last] }.tally
      topic = "topic:orders"
      assert_equal [1 + 2 + 2, 2, 2, 1, 1], %w[produced_sync produced_async flushed_sync flushed_async acknowledged]
        .map { |name| counts[["penstock.#{name}", topic]] }
      assert_includes @statsd.told, [:count, "penstock.error_occurred", 1, ["env:test"]]
      assert_equal [1, 2, 1], @statsd.told.filter_map { |_, name, value| value if name == "penstock.buffer.size" }
    end

    test "names and metrics may be others; a scope that producers haven't is refused" do
      metric = Monitors::DatadogProducer::Metric.new(:gauge, :root, "waiting", %w[msg_cnt])
      @producer.monitor.subscribe(Monitors::DatadogProducer.new(client: @statsd, namespace: "waterdrop",
        rd_kafka_metrics: [metric]))
      statistics(1)

      assert_includes @statsd.told, [:gauge, "waterdrop.waiting", 4, []]
      odd = metric.dup.tap { |one| one.scope = :topics }
      assert_raises(ConfigurationError) { Monitors::DatadogProducer.new(client: @statsd, rd_kafka_metrics: [odd]) }
    end
  end
end
