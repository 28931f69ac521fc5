# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"
require_relative "../instrumentation/metrics/catalogue"
require_relative "../instrumentation/metrics/gauge"
require_relative "../instrumentation/metrics/listener"
require_relative "../instrumentation/metrics/process_gauges"
require_relative "metrics_exporter/family"
require_relative "metrics_exporter/turns"
require_relative "options"

module Penstock
  module Monitors
    # Base of what sends the metrics of docs/monitoring.md to a monitoring system, under the same names and with the same limits
    # of labels. Counters and histograms are passed on as they are counted. Gauges are kept here and sent when a client has
    # emitted its statistics, which sets most of them; so no thread is needed.
    #
    # A subclass defines `counter(metric)` and `histogram(metric)`, which return what is called with labels and a value;
    # `set_gauge(metric, labels, value)`; `labels(names, values)`, their form; and `flush`.
    #
    # Called on the threads that publish events; it must not block. In a swarm each node has a copy and sends its own, with the
    # label `node`: processes of a host would overwrite each other's gauges.
    class MetricsExporter
      # Shortest time between two sendings of all gauges (ms). Several clients emit their statistics at different times.
      GAUGES_MS = 2_500
      # Of the page `/metrics` alone: a push has the time, and a supervisor knows nothing that its nodes don't send.
      OMITTED = %w[process_start_time_seconds penstock_swarm_node_up].freeze
      METRICS = Instrumentation::Metrics::Catalogue::ALL.reject { |metric| OMITTED.include?(metric.name) }.freeze
      # A lock that nobody needs.
      class Unlocked
        # @return [Object] what the block returns
        def synchronize = yield
      end
      private_constant :OMITTED, :Unlocked

      # Sends the metrics of an application, of the producers that it builds from now on, and of its process. Call it in the
      # boot file, after the application's class. A second call with the same arguments does nothing.
      # @param application [App, Application]
      # @return [MetricsExporter] what `new` returns for the other arguments
      # @raise [ConfigurationError] for what isn't an application, for unknown options, if a gem is missing, and if the same
      #   metrics are sent there already, with other options
      def self.install(application, *arguments, **options)
        owner = application.respond_to?(:application) ? application.application : application
        unless owner.respond_to?(:extensions)
          raise ConfigurationError.new([Problem.new("#{name.split("::").last}.install", "needs an application, got " \
            "#{application.inspect[0, 80]}", "Pass the class of your boot file, such as PenstockApp")])
        end
        complete = defaults.merge(options)
        owner.extensions.metrics.export([self, *target_of(*arguments, **complete)], complete) do
          create(owner, *arguments, **options)
        end
      end

      # @return [Array] what differs between exporters that may be installed in one application together: nothing, unless there
      #   are several clients or names
      def self.target_of(*, **) = []

      # @return [Hash{Symbol => Object}] of its options
      def self.defaults = {}

      def self.create(_application, ...) = new(...)
      private_class_method :target_of, :defaults, :create

      # @param clock [#call] monotonic ms
      def initialize(clock: -> { Clock::SYSTEM.monotonic_ms })
        @vitals = @listener = @node = nil
        @turns = Turns.new(GAUGES_MS, clock)
        @lock = Unlocked.new
        @families = METRICS.to_h { |metric| [metric.name, family(metric)] }.freeze
      end

      # A registry has a lock for its numbers; here there are none. It is another one in a node: its series are others.
      # @return [#synchronize]
      # @api private
      attr_reader :lock

      # @param name [String] of a metric
      # @return [#series] and for gauges `update`, `replace` and `remove`
      # @api private
      def [](name) = @families.fetch(name)

      # Called by the application.
      # @param monitor [Instrumentation::Monitor] its monitor
      # @param vitals [#call] see {Application#vitals}
      # @param topics [#[]] see {Instrumentation::Metrics::TopicNames}
      # @return [void]
      # @api private
      def subscribe_to(monitor, vitals:, topics:)
        @vitals = vitals
        @listener = Instrumentation::Metrics::Listener.new(self, METRICS, topics: topics)
        @listener.subscribe_to(monitor)
        send_gauges_after_statistics(monitor)
        monitor.subscribe("swarm.node.after_fork") { |event| become_node(event[:node].id) }
        monitor.subscribe("app.terminated") { flush }
      end

      # @param monitor [Instrumentation::Monitor] of a producer
      # @return [void]
      # @api private
      def subscribe_to_producer(monitor)
        @listener.subscribe_to_producer(monitor)
        send_gauges_after_statistics(monitor)
      end

      # Sends the gauges as they are now.
      # @return [void]
      def send_gauges
        Instrumentation::Metrics::ProcessGauges.set(self, @vitals.call) if @vitals
        @families.each_value do |family|
          next unless family.is_a?(Instrumentation::Metrics::Gauge)
          metric = family.metric
          family.rows.each { |values, (value)| set_gauge(metric, labels_of(metric.labels, values), value) }
        end
      end

      # Sends what is buffered; called when the application ends.
      # @return [void]
      def flush = nil

      # @return [String] a short one
      def inspect = "#<#{self.class}>"

      private

      def family(metric)
        return Instrumentation::Metrics::Gauge.new(metric) if metric.gauge?
        Family.new(metric, method(:labels_of), metric.histogram? ? histogram(metric) : counter(metric))
      end

      def labels_of(names, values) = @node ? labels([*names, :node], [*values, @node]) : labels(names, values)

      # @param index [Integer] which node of a swarm this process is
      def become_node(index)
        @node = index.to_s
        @families.each_value(&:reset)
        @lock = Unlocked.new
      end

      def send_gauges_after_statistics(monitor)
        monitor.subscribe("statistics.emitted") { send_gauges if @turns.begin_turn }
      end
    end
  end
end
