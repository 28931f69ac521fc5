# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/instrumentation/statistics"
require "penstock/monitors/stats_d"
require "support/exporting"
require "support/recording_statsd"

module Penstock
  class KarafkaMetricsTest < TestCase
    include TestSupport::Exporting

    # Those of Karafka's listener, except two about polling: nothing polls here.
    NAMES = %w[
      messages.consumed messages.consumed.bytes consume.attempts consume.errors receive.errors connection.connects
      connection.disconnects network.latency.avg network.latency.p95 network.latency.p99 consumer.lags consumer.lags_delta
      error_occurred consumer.messages consumer.batches consumer.offset consumer.consumed.time_taken consumer.batch_size
      consumer.processing_lag consumer.consumption_lag consumer.revoked consumer.shutdown consumer.tick worker.total_threads
      worker.processing worker.enqueued_jobs
    ].freeze
    BROKER = {"nodeid" => 1, "nodename" => "b:9092", "txretries" => 3, "txerrs" => 1, "rxerrs" => 0, "connects" => 2,
              "disconnects" => 1, "rtt" => {"avg" => 8, "p95" => 9, "p99" => 10}}.freeze
    Metadata = Struct.new(:processing_lag, :consumption_lag)
    Messages = Struct.new(:metadata)
    Consumer = Struct.new(:topic, :messages)
    Queue = Struct.new(:statistics)

    def setup
      super
      @statsd = TestSupport::RecordingStatsd.new
      @consumer = Consumer.new(Topic.new("shop"), Messages.new(Metadata.new(4, 90)))
    end

    def install(**options) = Monitors::StatsD.install(@app, @statsd, names: :karafka, **options)

    def client_statistics(messages, **partitions)
      own = {"rxmsgs" => messages, "rxmsg_bytes" => messages * 10,
             "brokers" => {"b" => BROKER, "seed" => BROKER.merge("nodeid" => -1)},
             "topics" => {"orders" => {"partitions" => partitions.transform_keys(&:to_s)}}}
      @statistics ||= Instrumentation::Statistics.new
      publish("statistics.emitted", statistics: @statistics.call(JSON.generate(own)), subscription_group_id: "sg",
        consumer_group_id: "shop")
    end

    def worker(name, **more)
      publish(name, job: nil, jobs_queue: Queue.new({busy: 2, enqueued: 9}), **more)
    end

    def everything
      client_statistics(100, "0": {"consumer_lag" => 5, "fetch_state" => "active"})
      client_statistics(130, "0": {"consumer_lag" => 9, "fetch_state" => "active"})
      consumed(3, caller: @consumer)
      failed(IOError.new)
      %w[consumer.revoked consumer.shutdown consumer.ticked].each do |name|
        publish(name, topic: "orders", partition: 0, time: 1, caller: @consumer)
      end
      publish("worker.scaling.up", workers_pool: nil, from: 0, to: 5)
      worker("worker.process")
      worker("worker.processed", time: 1)
    end

    test "[datadog/appsignal] each of the 26 names is sent, and no other" do
      install
      everything

      assert_equal 26, NAMES.size
      assert_equal NAMES.map { |name| "karafka.#{name}" }.sort, @statsd.names.sort
    end

    test "[datadog/appsignal] values and tags of calls of consume" do
      install(default_tags: %w[env:test])
      everything
      tags = %w[env:test topic:orders partition:0 consumer_group:shop]

      {"messages" => [:count, 3], "batches" => [:count, 1], "offset" => [:gauge, 9], "batch_size" => [:histogram, 3],
       "consumed.time_taken" => [:histogram, 30], "processing_lag" => [:histogram, 4], "consumption_lag" => [:histogram, 90],
       "revoked" => [:count, 1], "tick" => [:count, 1]}.each do |name, values|
        assert_equal [[*values, tags]], @statsd.of("karafka.consumer.#{name}"), name
      end
      assert_equal [[:count, 1, %w[env:test type:consumer.consume.error]]], @statsd.of("karafka.error_occurred")
      assert_equal [[:gauge, 5, %w[env:test]]], @statsd.of("karafka.worker.total_threads")
      assert_equal [[:histogram, 2, %w[env:test]]] * 2, @statsd.of("karafka.worker.processing")
      assert_equal [[:histogram, 9, %w[env:test]]], @statsd.of("karafka.worker.enqueued_jobs")
    end

    test "[datadog/appsignal] figures of statistics, of the client, of each known broker, of each partition" do
      install
      everything
      group = "consumer_group:shop"

      assert_equal [[:count, 0, [group]], [:count, 30, [group]]], @statsd.of("karafka.messages.consumed")
      assert_equal [:count, 300, [group]], @statsd.of("karafka.messages.consumed.bytes").last
      assert_equal [[:gauge, 9, ["broker:b:9092", group]]] * 2, @statsd.of("karafka.network.latency.p95")
      assert_equal [[:gauge, 5, ["topic:orders", "partition:0", group]], [:gauge, 9, ["topic:orders", "partition:0", group]]],
        @statsd.of("karafka.consumer.lags")
      assert_equal [0, 4], @statsd.of("karafka.consumer.lags_delta").map { |_kind, value| value }
    end

    test "an unknown lag isn't sent, nor that of a partition that isn't fetched" do
      install
      client_statistics(1, "0": {"consumer_lag" => -1, "fetch_state" => "active"},
        "1": {"consumer_lag" => 5, "fetch_state" => "stopped"}, "2": {"consumer_lag" => 5, "fetch_state" => "none"},
        "-1": {"consumer_lag" => 5, "fetch_state" => "active"})

      assert_empty @statsd.of("karafka.consumer.lags") + @statsd.of("karafka.consumer.lags_delta")
    end

    test "another namespace, distributions, other figures of the statistics" do
      metric = Monitors::StatsD::RdKafkaMetric
      install(namespace: "shop", distribution_mode: :distribution, rd_kafka_metrics: [
        metric.new(:histogram, :topics, "lag", %w[consumer_lag]), metric.new(:gauge, :root, "absent", %w[no such])
      ])
      everything

      assert_equal [:distribution, 5, %w[topic:orders partition:0 consumer_group:shop]], @statsd.of("shop.lag").first
      assert_equal [:distribution], @statsd.of("shop.consumer.batch_size").map(&:first)
      assert_empty @statsd.names & %w[shop.messages.consumed shop.absent]
    end

    test "a scope that doesn't exist is refused" do
      odd = Monitors::StatsD::RdKafkaMetric.new(:gauge, :nodes, "x", %w[x])
      error = assert_raises(ConfigurationError) { install(rd_kafka_metrics: [odd]) }

      assert_equal "StatsD rd_kafka_metrics: the metric x has the scope :nodes. Use :root, :brokers, :topics", error.message
    end

    test "producers have the names of WaterDrop's listener" do
      install
      @app.setup { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }
      producer = @app.application.separate_producer
      producer.monitor.instrument("message.acknowledged", producer_id: "p", topic: "orders", partition: 0, offset: 0,
        delivery_report: nil, label: nil)
      producer.close

      assert_equal [[:count, 1, %w[topic:orders]]], @statsd.of("waterdrop.acknowledged")
    end

    test "metrics of a node of a swarm have its number as a tag" do
      install
      become_node(2)
      consumed(3, caller: @consumer)

      assert_equal [[:count, 1, %w[node:2 topic:orders partition:0 consumer_group:shop]]], @statsd.of("karafka.consumer.batches")
    end

    test "topics beyond the limit of labels share one series" do
      install
      1_200.times { |number| consumed(1, topic: "t#{number}", caller: @consumer) }
      topics = @statsd.of("karafka.consumer.batches").map { |_kind, _value, tags| tags.first }.uniq

      assert_equal [101, "topic:other"], [topics.size, topics.last]
    end

    test "an event of the application's own code, without a consumer, has no lag and no group; the client is flushed at the end" do
      install
      consumed(1, caller: nil)
      publish("app.terminated", server_id: "s")

      assert_equal [[:count, 1, %w[topic:orders partition:0 consumer_group:]]], @statsd.of("karafka.consumer.batches")
      assert_empty @statsd.of("karafka.consumer.processing_lag")
      assert_equal 1, @statsd.flushes
    end
  end
end
