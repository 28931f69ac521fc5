# frozen_string_literal: true

require_relative "../config/environment"
require_relative "../errors"
require_relative "../on_demand"
require_relative "boot_file_watch"
require_relative "connection_pools"
require_relative "error_reporter"
require_relative "executor_wrapper"
require_relative "kept_objects"
require_relative "reloading_wrapper"
require_relative "terminal_log"
Penstock.load_constant :Application

module Penstock
  module OnRails
    # Adapts applications to the Rails application of the process. Created by the {Railtie}.
    class Extension < Application::Extension
      PRODUCER_MS = 5_000
      private_constant :PRODUCER_MS

      # @param rails [Rails::Application]
      # @param boot_file [String, nil] absolute path
      def initialize(rails, boot_file)
        super()
        @rails = rails
        @boot_file = boot_file
        @applications = []
      end

      # @see Application::Extension#set_up
      def set_up(application)
        @applications << application
        reloads = @rails.config.reloading_enabled?
        application.setup do |config|
          config.logger = ::Rails.logger if ::Rails.logger
          config.consumer_persistence = false if reloads
        end
        wrapper = reloads ? reloading_wrapper : ExecutorWrapper.new(@rails.executor, -> { ::Rails.logger })
        application.middleware { around_user_code wrapper }
      end

      # @see Application::Extension#subscribe
      def subscribe(monitor)
        monitor.subscribe(ErrorReporter.new(::Rails.error, settings))
        monitor.subscribe("app.before_warmup") { ConnectionPools.clear }
      end

      # @see Application::Extension#problems
      def problems(application)
        return [] unless ActiveSupport::IsolatedExecutionState.isolation_level == :thread
        topics = application.routes.topics.select { |topic| topic.active? && topic.features[:run_on]&.fibers? }
        topics.map do |topic|
          Problem.new("routes: topic #{topic.name}, run_on :fibers", "Rails keeps its state per thread: fibers of a thread " \
            "would share database connections and CurrentAttributes",
            "Write `config.active_support.isolation_level = :fiber` into config/application.rb")
        end
      end

      # @see Application::Extension#warnings
      def warnings(application) = ConnectionPools.too_small(application) + other_environment

      # @see Application::Extension#before_run
      def before_run(application)
        TerminalLog.start(::Rails.logger) if terminal_log?
        ConnectionPools.clear if Thread.current == Thread.main && forks?(application)
      end

      # Closes the producers that were used in this process, at its end.
      # @return [void]
      def close_producers = @applications.each { |application| application.close_producer(PRODUCER_MS) }

      private

      def settings = @rails.config.penstock

      def reloading_wrapper
        boot_file = @boot_file if @boot_file && File.file?(@boot_file)
        watch = BootFileWatch.new(boot_file, method(:report), kept: method(:kept))
        ReloadingWrapper.new(@rails, logger: -> { ::Rails.logger }, boot_file: watch, report: method(:report))
      end

      def kept = KeptObjects.files(@applications.flat_map { |application| application.routes.topics }, ::Rails.root.to_s)

      def report(text) = Instrumentation::SafeLogger.of(::Rails.logger).warn(text)

      def forks?(application) = application.routes.topics.any? { |topic| topic.active? && topic.features[:run_on]&.processes? }

      # The command line sets the variable.
      def terminal_log?
        wanted = settings.log_to_terminal
        wanted.nil? ? ::Rails.env.development? && ENV.key?("PENSTOCK_CLI") : wanted
      end

      def other_environment
        ours = Config::Environment.detect
        return [] if ours == ::Rails.env
        [Problem.new("PENSTOCK_ENV", "Penstock's environment is #{ours}, that of Rails is #{::Rails.env}",
          "Set only RAILS_ENV")]
      end
    end
  end
end
