# frozen_string_literal: true

require_relative "app_signal_transactions"
require_relative "error_tracker"
require_relative "metrics_exporter"

module Penstock
  module Monitors
    # Reports to AppSignal: metrics, a transaction per call of `consume` and of hooks, and errors.
    #
    #     require "appsignal"
    #     require "penstock/monitors/app_signal"
    #     Appsignal.start
    #     Penstock::Monitors::AppSignal.install(PenstockApp)
    #
    # Errors are those that {ErrorTracker} reports; the error of a call belongs to its transaction, under `run_on :processes` it
    # has one of its own. In nodes of a swarm and processes of a pool the gem connects to its agent again. AppSignal is stopped,
    # which sends its last data, when a server ends; in an embedding process that is left to its host.
    class AppSignal < MetricsExporter
      FLAG = ->(value) { [true, false].include?(value) }
      OPTIONS = {
        errors: Options::Option.new(true, "true or false", FLAG),
        metrics: Options::Option.new(true, "true or false", FLAG),
        transactions: Options::Option.new(true, "true or false", FLAG),
        namespace: Options::Option.new("background_job", "a String", ->(value) { value.is_a?(String) && !value.empty? }),
        report: Options::Option.new(:first_and_last, ":first_and_last or :each", ErrorTracker::REPORTS.method(:include?))
      }.freeze
      FORKS = %w[swarm.node.after_fork process_pool.after_fork].freeze
      private_constant :FLAG, :OPTIONS, :FORKS

      # @param application [App, Application]
      # @param options [Hash{Symbol => Object}]
      # @option options [Boolean] :errors whether errors are reported
      # @option options [Boolean] :metrics whether metrics are sent
      # @option options [Boolean] :transactions whether calls are transactions
      # @option options [String] :namespace of transactions and errors
      # @option options [Symbol] :report see {ErrorTracker#initialize}
      # @return [AppSignal]
      # @raise [ConfigurationError] for unknown options, if the gem is missing, or if the application runs already
      def self.install(application, **options) = super

      def self.create(application, **options) = super.tap { |made| made.wrap_calls(application) }
      private_class_method :create

      # @see .install
      def initialize(clock: -> { Clock::SYSTEM.monotonic_ms }, **options)
        @options = Options.checked("AppSignal", options, OPTIONS)
        Options.load_gem("AppSignal", "appsignal")
        @mode = nil
        super(clock: clock)
      end

      # @param application [Application] not yet running
      # @return [void]
      # @api private
      def wrap_calls(application)
        @mode = -> { application.execution_mode }
        return unless @options[:transactions]
        wrapper = AppSignalTransactions.new(@options[:namespace])
        application.middleware { around_user_code wrapper }
      end

      # @see MetricsExporter#subscribe_to
      # @api private
      def subscribe_to(monitor, **)
        FORKS.each { |name| monitor.subscribe(name) { ::Appsignal.forked } }
        monitor.subscribe(error_tracker) if @options[:errors]
        return super if @options[:metrics]
        monitor.subscribe("app.terminated") { flush }
      end

      # @see MetricsExporter#subscribe_to_producer
      # @api private
      def subscribe_to_producer(monitor)
        super if @options[:metrics]
      end

      # Stops AppSignal, unless the process belongs to a host.
      # @return [void]
      def flush
        ::Appsignal.stop("penstock") unless @mode.nil? || @mode.call.embedded?
      end

      private

      def error_tracker
        service, namespace = ErrorTracker::Services.load(:appsignal), @options[:namespace]
        ErrorTracker.new(->(error, context) { service.call(error, context, namespace) }, report: @options[:report])
      end

      def counter(metric) = ->(tags, value) { ::Appsignal.increment_counter(metric.name, value, tags) }

      def histogram(metric) = ->(tags, value) { ::Appsignal.add_distribution_value(metric.name, value, tags) }

      def set_gauge(metric, tags, value) = ::Appsignal.set_gauge(metric.name, value, tags)

      # A label that the event doesn't have is no tag.
      def labels(names, values) = names.zip(values).reject { |_name, value| value.empty? }.to_h.freeze
    end
  end
end
