# frozen_string_literal: true

require_relative "../runtime/threads"

module Penstock
  class Application
    # The metrics of an application: subscribed to its events with `config.metrics`, otherwise nothing is loaded; and those that
    # export them. Owned by the application. Any thread.
    class Metrics
      # @param application [#config, #monitor, #vitals]
      def initialize(application)
        @application = application
        @registry = @listener = @file = @totals = nil
        @topics = nil
        @exporters = {}
      end

      # Adds what sends metrics to another system, once: a second one would count everything twice. Independent of
      # `config.metrics`.
      # @param target [Array] where it sends which series: its class first, compared by `==`
      # @param options [Hash] its options
      # @yieldreturn [#subscribe_to, #subscribe_to_producer] a new one, see {Monitors::MetricsExporter}
      # @return [#subscribe_to] the one that sends there, new or not
      # @raise [ConfigurationError] one with other options sends there already
      def export(target, options)
        exporter, before = @exporters[target]
        return exporter if exporter && before == options
        made = yield # which refuses wrong options
        refuse_second(target, before) if exporter
        @exporters[target] = [made, options]
        made.subscribe_to(@application.monitor, vitals: @application.method(:vitals), topics: topics)
        made
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
        @listener = Instrumentation::Metrics::Listener.new(@registry, topics: topics)
        @listener.subscribe_to(monitor)
        monitor.subscribe("app.supervising") { supervise(monitor) }
      end

      # Counts a producer's own events: its errors are published by the application's monitor, too.
      # @param monitor [Instrumentation::Monitor] the producer's
      # @return [void]
      def subscribe_to_producer(monitor)
        own = @application.monitor # subscribes
        return if monitor.equal?(own)
        [*@listener, *@exporters.each_value.map(&:first)].each { |listener| listener.subscribe_to_producer(monitor) }
      end

      # @return [String, nil] nil without `config.metrics`
      def text
        @application.monitor # subscribes
        return unless @registry
        Instrumentation::Metrics::PrometheusText.of([[{}, @registry.snapshot], *@totals&.snapshots])
      end

      # Called in a node of a swarm: forgets the supervisor's numbers, which it has a copy of, and leaves its own in the file that
      # both have.
      # @param index [Integer]
      def become_node(index)
        @registry&.reset
        @totals = nil
        return unless @file
        monitor = @application.monitor
        reporter = reporter(index, monitor)
        monitor.subscribe("app.terminated") { reporter.close }
      end

      private

      def refuse_second(target, before)
        options = before.compact.empty? ? "no options" : before.compact.inspect[0, 200]
        raise ConfigurationError.new([Problem.new("#{target.first.name.split("::").last}.install",
          "sends these metrics already, with #{options}; they would be counted twice", "Install it once")])
      end

      # @return [Instrumentation::Metrics::TopicNames] the same for all systems
      def topics
        require_relative "../instrumentation/metrics/topic_names"
        @topics ||= Instrumentation::Metrics::TopicNames.new(lambda do |name|
          route = @application.routes.find(name)
          route.pattern.source if route&.discovered?
        end)
      end

      # Called in a supervisor, before the first fork.
      def supervise(monitor)
        %w[metrics_reporter metrics_totals].each { |file| require_relative "../swarm/#{file}" }
        settings = @application.config.swarm
        @file = Swarm::MetricsFile.open
        @totals = Swarm::MetricsTotals.new(@file, settings.nodes, interval_ms: settings.supervision_interval)
        monitor.subscribe("swarm.manager.node_ended") { |event| @totals&.ended(event[:node].id) }
      end

      def reporter(index, monitor)
        report = lambda do |name, error|
          monitor.instrument("error.occurred", {type: "worker.process.error", error: error, thread: name})
        end
        Swarm::MetricsReporter.new(@file, index, interval_ms: @application.config.swarm.supervision_interval,
          snapshot: @registry.method(:snapshot), failed: ->(error) { report.call("penstock metrics", error) })
          .start(Runtime::Threads.new(report))
      end
    end
  end
end
