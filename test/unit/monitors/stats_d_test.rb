# frozen_string_literal: true

require "test_helper"
require "socket"
require "datadog/statsd"
require "penstock/monitors/stats_d"
require "support/exporting"
require "support/recording_statsd"

module Penstock
  class StatsDTest < TestCase
    include TestSupport::Exporting

    MESSAGES = "penstock_consumer_messages_total"
    TAGS = %w[group:shop topic:orders].freeze

    def setup
      super
      @statsd = TestSupport::RecordingStatsd.new
      @now = 0
    end

    def install(**options) = Monitors::StatsD.install(@app, @statsd, clock: -> { @now }, **options)

    test "[datadog/appsignal] counters are counts, durations histograms in seconds, labels tags" do
      install
      consumed(3)

      assert_equal [[:count, 3, TAGS]], @statsd.of(MESSAGES)
      assert_equal [[:histogram, 0.03, TAGS]], @statsd.of("penstock_consumer_consume_duration_seconds")
      assert_equal [[:histogram, 3, TAGS]], @statsd.of("penstock_consumer_batch_size_messages")
    end

    test "what is installed twice counts once; with other options it is refused, with other names or clients it isn't" do
      options = {clock: -> { @now }, default_tags: %w[env:test]}
      first, second = Array.new(2) { Monitors::StatsD.install(@app, @statsd, **options) }
      assert_same first, second
      other = Monitors::StatsD.install(@app, TestSupport::RecordingStatsd.new, **options)
      refute_same first, other
      assert_same first, Monitors::StatsD.install(@app, @statsd, **options, names: :penstock, namespace: nil), "defaults"
      Monitors::StatsD.install(@app, @statsd, names: :karafka)
      assert_raises(ConfigurationError) { Monitors::StatsD.install(@app, @statsd, names: :karafka, namespace: "karafka") }
      error = assert_raises(ConfigurationError) { Monitors::StatsD.install(@app, @statsd, default_tags: %w[env:live]) }
      consumed(3)

      assert_equal [[:count, 3, ["env:test", *TAGS]]], @statsd.of(MESSAGES)
      assert_match(/\AStatsD\.install: sends these metrics already, with \{.*env:test.*counted twice\. Install it once\z/,
        error.message)
    end

    test "a label that an event doesn't have is no tag; each metric has the default tags; distributions on request" do
      install(default_tags: %w[env:test], distribution_mode: :distribution, namespace: "shop")
      failed(IOError.new, topic: nil)
      consumed(1)

      assert_equal [[:count, 1, %w[env:test type:consumer.consume.error error:IOError]]], @statsd.of("shop.penstock_errors_total")
      assert_equal [[:distribution, 1, ["env:test", *TAGS]]], @statsd.of("shop.penstock_consumer_batch_size_messages")
    end

    test "gauges follow the statistics of a client, at most each 2.5 seconds; those of a lost partition are no longer sent" do
      install
      lag = -> { @statsd.of("penstock_consumer_lag_messages").map { |_kind, value, tags| [value, tags.last] } }
      statistics({0 => 5, 1 => 7})
      @now = 2_499
      statistics({0 => 6})
      assert_equal [[5, "partition:0"], [7, "partition:1"]], lag.call
      @now = 2_500
      statistics({0 => 8})

      assert_equal [8, "partition:0"], lag.call.last
      assert_equal 3, lag.call.size
      assert_equal [[:gauge, 1, []]] * 2, @statsd.of("penstock_live")
    end

    test "metrics of a node of a swarm have its number as a tag" do
      install
      consumed(3)
      become_node(2)
      consumed(4)
      statistics({0 => 5})

      assert_equal [[:count, 3, TAGS], [:count, 4, [*TAGS, "node:2"]]], @statsd.of(MESSAGES)
      assert_equal [[:gauge, 1, %w[node:2]]], @statsd.of("penstock_live")
    end

    test "the client is flushed when the application ends" do
      install
      publish("app.terminated", server_id: "s")

      assert_equal 1, @statsd.flushes
    end

    test "[datadog/appsignal] 10,000 classes of errors make 101 series" do
      install
      fail_with_many_classes

      errors = @statsd.of("penstock_errors_total")
      assert_equal [10_000, bounded.map { |name| "error:#{name}" }],
        [errors.size, errors.map { |_kind, _value, tags| tags.last }.uniq]
    end

    test "messages of producers that the application builds are counted" do
      install
      @app.setup { |config| config.kafka = {"bootstrap.servers": "127.0.0.1:1"} }
      producer = @app.application.separate_producer
      producer.monitor.instrument("message.acknowledged", producer_id: "p", topic: "orders", partition: 0, offset: 0,
        delivery_report: nil, label: nil)
      producer.close

      assert_equal [[:count, 1, %w[topic:orders]]], @statsd.of("penstock_producer_messages_total")
    end

    test "Datadog's own client sends what its server understands by UDP" do
      server = UDPSocket.new.tap { |socket| socket.bind("127.0.0.1", 0) }
      client = Datadog::Statsd.new("127.0.0.1", server.addr[1], single_thread: true, telemetry_enable: false)
      Monitors::StatsD.install(@app, client, default_tags: %w[env:test])
      consumed(3)
      publish("app.terminated", server_id: "s")
      received = +""
      received << server.recvfrom(65_536).first << "\n" until received.include?("batch_size")

      assert_equal "#{MESSAGES}:3|c|#env:test,group:shop,topic:orders", received.lines(chomp: true).grep(/#{MESSAGES}/o).first
      assert_includes received, "penstock_consumer_consume_duration_seconds:0.03|h|#env:test,group:shop,topic:orders"
    ensure
      client&.close
      server&.close
    end

    test "all mistakes are reported at once: options with the nearest name, values, a client without its methods" do
      error = assert_raises(ConfigurationError) do
        Monitors::StatsD.install(@app, Object.new, default_tag: [], names: :datadog, namespace: 3, rd_kafka_metrics: [1])
      end
      message = error.message

      ["there is no option default_tag. Did you mean default_tags?", "StatsD names: must be :penstock or :karafka, is :datadog",
        "StatsD namespace: must be a String or nil, is 3", "Object can't be the client: it doesn't have count, gauge",
        "rd_kafka_metrics: must be an Array of",
        "StatsD rd_kafka_metrics: has no effect on Penstock's own names. Pass names: :karafka, or leave it out"].each do |part|
        assert_includes message, part
      end
      assert_equal 6, error.problems.size
    end

    test "what isn't an application is refused" do
      error = assert_raises(ConfigurationError) { Monitors::StatsD.install(@statsd, @app) }

      assert_match(/StatsD.install: needs an application, got #<Penstock::TestSupport::RecordingStatsd/, error.message)
    end
  end
end
