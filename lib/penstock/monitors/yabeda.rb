# frozen_string_literal: true

require_relative "metrics_exporter"

module Penstock
  module Monitors
    # Sends metrics to Yabeda, and so to each monitoring system that it has an adapter for.
    #
    #     require "yabeda/prometheus"
    #     require "penstock/monitors/yabeda"
    #     Penstock::Monitors::Yabeda.install(PenstockApp)
    #     Yabeda.configure! # Rails does that
    #
    # Gauges are set when an adapter collects. Adapters can't remove a series: one that no longer exists, such as the lag of a
    # partition that was revoked, becomes 0. Counted is from `Yabeda.configure!` on. Nodes of a swarm have no label of their own:
    # Yabeda's tags are fixed.
    class Yabeda < MetricsExporter
      # @raise [ConfigurationError] for options (there are none), or if the gem is missing
      def initialize(clock: -> { Clock::SYSTEM.monotonic_ms }, **options)
        Options.checked("Yabeda", options, {})
        Options.load_gem("Yabeda", "yabeda")
        @metrics = {}
        @collecting = Mutex.new
        @shown = Hash.new { |hash, name| hash[name] = [] }
        super(clock: clock)
        exporter = self
        ::Yabeda.configure do
          exporter.define_metrics(self)
          collect { exporter.send_gauges }
        end
      end

      # Called by Yabeda once it is configured.
      # @param yabeda [#counter, #gauge, #histogram]
      # @return [void]
      # @api private
      def define_metrics(yabeda)
        METRICS.each do |metric|
          options = {comment: metric.help, tags: metric.labels, buckets: metric.buckets}.compact
          @metrics[metric.name] = ::Yabeda.metrics[metric.name] || yabeda.public_send(metric.kind, metric.name.to_sym, **options)
        end
      end

      # @see MetricsExporter#send_gauges
      def send_gauges
        @collecting.synchronize do
          before = @shown.transform_values(&:dup)
          @shown.each_value(&:clear)
          super
          before.each { |name, series| (series - @shown[name]).each { |labels| @metrics.fetch(name).set(labels, 0) } }
        end
      end

      private

      def counter(metric) = ->(labels, value) { @metrics[metric.name]&.increment(labels, by: value) }

      def histogram(metric) = ->(labels, value) { @metrics[metric.name]&.measure(labels, value) }

      def set_gauge(metric, labels, value)
        @shown[metric.name] << labels
        @metrics.fetch(metric.name).set(labels, value)
      end

      # They are set when an adapter collects.
      def send_gauges_after_statistics(_monitor) = nil

      def labels_of(names, values) = names.zip(values).to_h
    end
  end
end
