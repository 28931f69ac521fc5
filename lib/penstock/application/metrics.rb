# frozen_string_literal: true

module Penstock
  class Application
    # The metrics of an application: subscribed to its events with `config.metrics`, otherwise nothing is loaded. Owned by the
    # application. Any thread.
    class Metrics
      # @param application [#config, #monitor, #vitals]
      def initialize(application)
        @application = application
        @registry = @listener = nil
      end

      # Does nothing the second time.
      # @param monitor [Instrumentation::Monitor] the application's
      # @return [void]
      def subscribe_to(monitor)
        return if @registry || !@application.config.metrics
        %w[listener process_gauges prometheus_text].each { |file| require_relative "../instrumentation/metrics/#{file}" }
        @registry = Instrumentation::Metrics::Registry.new do |registry|
          Instrumentation::Metrics::ProcessGauges.set(registry, @application.vitals)
        end
        @listener = Instrumentation::Metrics::Listener.new(@registry)
        @listener.subscribe_to(monitor)
      end

      # Counts a producer's own events: its errors are published by the application's monitor, too.
      # @param monitor [Instrumentation::Monitor] the producer's
      # @return [void]
      def subscribe_to_producer(monitor)
        own = @application.monitor # subscribes
        @listener&.subscribe_to_producer(monitor) unless monitor.equal?(own)
      end

      # @return [String, nil] nil without `config.metrics`
      def text
        @application.monitor # subscribes
        Instrumentation::Metrics::PrometheusText.of([[{}, @registry.snapshot]]) if @registry
      end

      # Called in a node of a swarm: what the supervisor has counted is the supervisor's.
      def become_node = @registry&.reset
    end
  end
end
