# frozen_string_literal: true

require_relative "../instrumentation/safe_logger"
require_relative "../on_demand"
require_relative "extension"
require_relative "metrics"
require_relative "producer_wrappers"
Penstock.load_constant "Instrumentation::LoggerListener"

module Penstock
  class Application
    # The extensions of one application, its metrics, and what wraps calls of its producers. Created with it; called by the thread
    # that boots or runs it.
    class Extensions
      # @return [Metrics]
      attr_reader :metrics

      # @return [ProducerWrappers]
      attr_reader :producer_wrappers

      # @param list [Array<Extension>]
      # @param application [Application]
      def initialize(list, application)
        @list = list.dup.freeze
        @application = application
        @metrics = Metrics.new(application)
        @producer_wrappers = ProducerWrappers.new
        @listening = 0
      end

      # @see Extension#set_up
      def set_up = @list.each { |extension| extension.set_up(@application) }

      # @param monitor [Instrumentation::Monitor]
      # @return [Instrumentation::Monitor] the same, with the extensions' listeners and that of the metrics
      def subscribe(monitor)
        @list.each { |extension| extension.subscribe(monitor) }
        @metrics.subscribe_to(monitor)
        @listening = monitor.subscriptions["error.occurred"].size
        monitor
      end

      # An application without a listener for errors of its own still logs them.
      def log_errors_by_default
        monitor = @application.monitor
        return if monitor.subscriptions["error.occurred"].size > @listening
        monitor.subscribe(Instrumentation::LoggerListener.new(@application.logger))
      end

      # @see Extension#problems
      def problems = @list.flat_map { |extension| extension.problems(@application) }

      # @see Extension#warnings
      def warnings = @list.flat_map { |extension| extension.warnings(@application) }

      # Called before the application runs, once it is valid.
      # @return [void]
      def prepare_to_run
        @list.each { |extension| extension.before_run(@application) }
        log_errors_by_default
        @metrics.subscribe_to(@application.monitor) # unless it was: the monitor may be older than the setting
        logger = Instrumentation::SafeLogger.of(@application.logger)
        warnings.each { |warning| logger.warn(warning.to_s) }
      end
    end
  end
end
