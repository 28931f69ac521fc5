# frozen_string_literal: true

require_relative "../version"
require_relative "metrics_exporter"

module Penstock
  module Monitors
    # Sends metrics through OpenTelemetry's SDK, which the application has set up before.
    #
    #     require "opentelemetry-metrics-sdk"
    #     require "penstock/monitors/open_telemetry_metrics"
    #     OpenTelemetry::SDK.configure
    #     Penstock::Monitors::OpenTelemetryMetrics.install(PenstockApp)
    #
    # Counters and histograms are instruments of the same kind; the buckets of a histogram are set by a view. Gauges are read
    # whenever a reader collects: by observable gauges where there is one value, otherwise by gauges that the first of these
    # records, because an observable gauge of this SDK has one value. A series that no longer exists disappears.
    #
    # The SDK's reader has the only thread, and continues after a fork by itself.
    class OpenTelemetryMetrics < MetricsExporter
      SCOPE = "penstock"
      UNITS = {seconds: "s", bytes: "By", messages: "{message}"}.freeze
      # Time for the last export when the application ends (s).
      FLUSH_S = 5
      # How long the state of the process counts as current: one collection reads several gauges of it (ms).
      VITALS_MS = 500
      OPTIONS = {
        meter_provider: Options::Option.new(nil, "a meter provider of OpenTelemetry's SDK, or nil (the global one)",
          ->(value) { value.nil? || value.respond_to?(:add_view) })
      }.freeze
      private_constant :SCOPE, :UNITS, :FLUSH_S, :VITALS_MS, :OPTIONS

      def self.target_of(meter_provider: nil, **)
        [(meter_provider || (::OpenTelemetry.meter_provider if ::OpenTelemetry.respond_to?(:meter_provider))).object_id]
      end
      private_class_method :target_of

      # @param options [Hash{Symbol => Object}]
      # @option options [OpenTelemetry::SDK::Metrics::MeterProvider, nil] :meter_provider default: the global one
      # @raise [ConfigurationError] for unknown options, if the gem is missing, or if the SDK isn't set up
      def initialize(clock: -> { Clock::SYSTEM.monotonic_ms }, **options)
        options = Options.checked("OpenTelemetryMetrics", options, OPTIONS)
        Options.load_gem("OpenTelemetryMetrics", "opentelemetry-metrics-sdk")
        @provider = options[:meter_provider] || global_provider
        @collections = Turns.new(VITALS_MS, clock)
        super(clock: clock)
        create_instruments
      end

      # Exports what was counted. At most 5 seconds.
      # @return [void]
      def flush = @provider.force_flush(timeout: FLUSH_S)

      private

      def global_provider
        provider = ::OpenTelemetry.meter_provider
        return provider if provider.respond_to?(:add_view)
        raise ConfigurationError.new([Problem.new("OpenTelemetryMetrics", "OpenTelemetry's SDK for metrics isn't set up",
          "Call `OpenTelemetry::SDK.configure` before, or pass meter_provider:")])
      end

      # Views only apply to instruments that are created later.
      def create_instruments
        @gauges = METRICS.select(&:gauge?).sort_by { |metric| metric.labels.size }.to_h do |metric|
          [metric.name, metric.labels.empty? ? observe(metric) : meter.create_gauge(metric.name, **about(metric))]
        end
      end

      def meter = @meter ||= @provider.meter(SCOPE, version: VERSION)

      def counter(metric)
        instrument = meter.create_counter(metric.name, **about(metric))
        ->(attributes, value) { instrument.add(value, attributes: attributes) }
      end

      def histogram(metric)
        buckets = ::OpenTelemetry::SDK::Metrics::Aggregation::ExplicitBucketHistogram.new(boundaries: metric.buckets)
        @provider.add_view(metric.name, type: :histogram, meter_name: SCOPE, aggregation: buckets)
        instrument = meter.create_histogram(metric.name, **about(metric))
        ->(attributes, value) { instrument.record(value, attributes: attributes) }
      end

      def about(metric) = {unit: UNITS.fetch(metric.unit, "1"), description: metric.help}

      def observe(metric)
        meter.create_observable_gauge(metric.name, callback: -> { read(metric.name) }, **about(metric))
      end

      # Called by readers, on threads of the SDK.
      # @return [Numeric, nil] nil: there is no value now
      def read(name)
        send_gauges if @collections.begin_turn
        self[name].rows.first&.last&.first
      end

      # Those with labels; the others are observed.
      def set_gauge(metric, attributes, value)
        @gauges.fetch(metric.name).record(value, attributes: attributes) if metric.labels.any?
      end

      def become_node(index)
        super
        METRICS.each { |metric| @gauges[metric.name].add_attributes({"node" => @node}) if metric.gauge? && metric.labels.empty? }
      end

      # They are read when a reader collects.
      def send_gauges_after_statistics(_monitor) = nil

      # A label that the event doesn't have is no attribute. Not frozen: the SDK adds those of views to it.
      def labels(names, values)
        names.zip(values).filter_map { |name, value| [name.to_s, value] unless value.empty? }.to_h
      end
    end
  end
end
