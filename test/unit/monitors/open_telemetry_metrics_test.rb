# frozen_string_literal: true

require "test_helper"
require "opentelemetry-metrics-sdk"
require "penstock/monitors/open_telemetry_metrics"
require "support/exporting"
require "support/ruby_program"

module Penstock
  class OpenTelemetryMetricsTest < TestCase
    include TestSupport::Exporting

    SDK = OpenTelemetry::SDK::Metrics

    def setup
      super
      @reader = SDK::Export::InMemoryMetricPullExporter.new
      @provider = SDK::MeterProvider.new
      @provider.add_metric_reader(@reader)
      @now = 0
    end

    def install(**options)
      Monitors::OpenTelemetryMetrics.install(@app, meter_provider: @provider, clock: -> { @now += 1_000 }, **options)
    end

    def collect
      @reader.reset
      @reader.pull
      @reader.metric_snapshots.to_h { |metric| [metric.name, metric] }
    end

    def values(metric) = metric&.data_points&.to_h { |point| [point.attributes, point.value] }

    test "[datadog/appsignal] OpenTelemetry has counters with attributes, units and descriptions" do
      install
      2.times { consumed(3) }
      metric = collect.fetch("penstock_consumer_messages_total")

      assert_equal({{"group" => "shop", "topic" => "orders"} => 6}, values(metric))
      assert_equal [:counter, "{message}", true, "penstock", VERSION],
        [metric.instrument_kind, metric.unit, metric.is_monotonic, metric.instrumentation_scope.name,
          metric.instrumentation_scope.version]
      assert_match(/Messages of calls/, metric.description)
    end

    test "[datadog/appsignal] histograms have the buckets of the catalogue" do
      install
      consumed(3)
      metric = collect.fetch("penstock_consumer_consume_duration_seconds")
      point = metric.data_points.first

      assert_equal [:histogram, "s", 1, 0.03], [metric.instrument_kind, metric.unit, point.count, point.sum]
      assert_equal Instrumentation::Metrics::Catalogue::SECONDS, point.explicit_bounds
      assert_equal Instrumentation::Metrics::Catalogue::SECONDS.index(0.05), point.bucket_counts.index(1)
    end

    test "[datadog/appsignal] gauges are read when a reader collects, with and without labels" do
      install
      statistics({0 => 5, 1 => 7})
      publish("outbox.lag", table: "outbox", count: 4, parked: 1, aside: 0, held: 0, oldest_age_ms: 300)
      found = collect

      assert_equal({{} => 1}, values(found["penstock_live"]))
      assert_equal :observable_gauge, found["penstock_live"].instrument_kind
      place = {"group" => "shop", "topic" => "orders"}
      assert_equal({{**place, "partition" => "0"} => 5, {**place, "partition" => "1"} => 7},
        values(found["penstock_consumer_lag_messages"]))
      assert_equal({{"table" => "outbox"} => 0.3}, values(found["penstock_outbox_oldest_age_seconds"]))
      refute_includes found, "penstock_workers"
      statistics({1 => 8})
      assert_equal({{**place, "partition" => "1"} => 8}, values(collect["penstock_consumer_lag_messages"]))
    end

    test "a label that an event doesn't have is no attribute; attributes that a view adds are added" do
      @provider.add_view("penstock_errors_total", attribute_keys: {"env" => "test"}, aggregation: SDK::Aggregation::Sum.new)
      install
      2.times { failed(IOError.new, topic: nil) }

      assert_equal({{"type" => "consumer.consume.error", "error" => "IOError", "env" => "test"} => 2},
        values(collect["penstock_errors_total"]))
    end

    test "[datadog/appsignal] 10,000 classes of errors make 101 series of OpenTelemetry" do
      install
      fail_with_many_classes
      found = values(collect["penstock_errors_total"])

      assert_equal bounded, found.keys.map { |attributes| attributes["error"] }
      assert_equal 10_000, found.values.sum
    end

    test "metrics of a node of a swarm have its number as an attribute" do
      install
      become_node(2)
      consumed(3)
      found = collect

      assert_equal [{"group" => "shop", "topic" => "orders", "node" => "2"}],
        values(found["penstock_consumer_messages_total"]).keys
      assert_equal [{"node" => "2"}], values(found["penstock_live"]).keys
    end

    test "the last export happens when the application ends" do
      exporter = SDK::Export::InMemoryMetricPullExporter.new
      reader = SDK::Export::PeriodicMetricReader.new(export_interval_millis: 60_000, exporter: exporter)
      @provider.add_metric_reader(reader)
      install
      consumed(3)
      assert_empty exporter.metric_snapshots
      publish("app.terminated", server_id: "s")

      assert_includes exporter.metric_snapshots.map(&:name), "penstock_consumer_messages_total"
    ensure
      reader&.shutdown
    end

    test "the global provider is used; before the SDK is set up that is an error, as are unknown options" do
      output, result = TestSupport::RubyProgram.run(<<~RUBY)
        require "penstock"
        require "opentelemetry-metrics-api"
        require "penstock/monitors/open_telemetry_metrics"
        class MetricsApp < Penstock::App
        end
        Exporter = Penstock::Monitors::OpenTelemetryMetrics
        [{}, {meter_providr: 1}, {meter_provider: 1}].each do |options|
          Exporter.install(MetricsApp, **options)
        rescue Penstock::ConfigurationError => error
          puts error.message
        end
        ENV["OTEL_METRICS_EXPORTER"] = ENV["OTEL_TRACES_EXPORTER"] = "none"
        require "opentelemetry-metrics-sdk"
        OpenTelemetry::SDK.configure
        p Exporter.install(MetricsApp)
      RUBY

      assert result.success?, output
      lines = output.lines(chomp: true)
      assert_includes lines.first, "OpenTelemetryMetrics: OpenTelemetry's SDK for metrics isn't set up. Call"
      assert_equal "OpenTelemetryMetrics: there is no option meter_providr. Did you mean meter_provider?", lines[1]
      assert_includes lines[2], "meter_provider: must be a meter provider of OpenTelemetry's SDK, or nil"
      assert_equal "#<Penstock::Monitors::OpenTelemetryMetrics>", lines.last
    end

    test "a missing gem is named, with the line for the Gemfile" do
      output, = TestSupport::RubyProgram.run(<<~RUBY)
        require "penstock/monitors/open_telemetry_metrics"
        def require(name) = name.start_with?("opentelemetry") ? raise(LoadError, "cannot load such file -- \#{name}") : super
        begin
          Penstock::Monitors::OpenTelemetryMetrics.new
        rescue Penstock::ConfigurationError => error
          puts error.message
        end
      RUBY

      assert_equal "OpenTelemetryMetrics: the gem opentelemetry-metrics-sdk can't be loaded (cannot load such file -- " \
        "opentelemetry-metrics-sdk). Add `gem \"opentelemetry-metrics-sdk\"` to the Gemfile", output.lines.last.chomp
    end
  end
end
