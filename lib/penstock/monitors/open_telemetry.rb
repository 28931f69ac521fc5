# frozen_string_literal: true

require_relative "../errors"
require_relative "../version"
require_relative "open_telemetry/options"

module Penstock
  module Monitors
    # Traces an application with OpenTelemetry: spans of calls that produce and of calls of `consume`, whose context travels in
    # the headers of messages.
    #
    #     require "penstock/monitors/open_telemetry"
    #     Penstock::Monitors::OpenTelemetry.install(PenstockApp)
    #
    # Call it at boot, after the application's `setup`. It needs the gem opentelemetry-api, and does nothing visible until an SDK
    # is set up, before or after it. See docs/monitoring.md.
    module OpenTelemetry
      # How long spans may take to be sent when a process ends.
      FLUSH_S = 3
      LIBRARY = "penstock"
      # Beginnings of forked processes, and ends.
      FLUSHING = %w[swarm.node.after_fork process_pool.after_fork app.terminated process_pool.before_exit].freeze
      private_constant :FLUSHING, :FLUSH_S, :LIBRARY

      class << self
        # Traces an application, or a producer that isn't the application's. Does nothing the second time.
        #
        # @param target [Class<App>, Application, Producer, Producer::Settings]
        # @param options [Hash{Symbol => Object}] for an application only
        # @option options [Symbol] :spans `:call` (a span per call of `consume`, the default) or `:message` (also one per record)
        # @option options [Symbol, nil] :parent `:producer`: the span of a call with a single record is a child of the span that
        #   produced the record, in its trace; nil (the default): it begins a trace, with a link to it
        # @return [void]
        # @raise [ConfigurationError] with everything that is wrong, or if the gem can't be loaded
        def install(target, **options)
          chosen = Options.read(options)
          application = application_of(target)
          return install_in(application, chosen) if application
          return install_on(target, options) if target.respond_to?(:middleware) && target.middleware.respond_to?(:around)
          fail_with("can't trace #{target.inspect[0, 80]}", "Pass the application, such as PenstockApp, or a Penstock::Producer")
        end

        private

        def application_of(target)
          target = target.application if target.respond_to?(:application)
          target if target.respond_to?(:extensions)
        end

        def install_in(application, options)
          load_gem
          installed = application.middleware.to_a.find { |layer| layer.instance_of?(ConsumerSpans) }
          return check_same(installed.options, options) if installed

          layer = ConsumerSpans.new(tracer, options)
          application.middleware { prepend layer }
          application.extensions.producer_wrappers.add(ProducerSpans.new(tracer))
          listen(application)
        end

        def install_on(producer, options)
          fail_with("#{options.keys.join(" and ")} only concern an application", "Leave out the options") if options.any?
          load_gem
          producer.middleware.around(ProducerSpans.new(tracer))
        end

        def check_same(before, now)
          return if before == now
          fail_with("is installed already with #{before}", "Install it once, or with the same options as now (#{now})")
        end

        def listen(application)
          monitor = application.monitor
          monitor.subscribe(LetterSpans.new(tracer))
          monitor.subscribe(JobContext.new)
          monitor.subscribe("app.initialized") { warn_without_sdk(application) }
          FLUSHING.each { |event| monitor.subscribe(event) { flush } }
        end

        # At the end of a process, because spans of its last seconds would be lost with it: nothing else calls the SDK there. At
        # the beginning of a forked one, so that the SDK starts its thread there; started by a thread that masks interrupts, it
        # would mask them, too, and keep the process from ending.
        def flush
          provider = ::OpenTelemetry.tracer_provider
          provider.force_flush(timeout: FLUSH_S) if provider.respond_to?(:force_flush)
        end

        def warn_without_sdk(application)
          return unless ::OpenTelemetry.tracer_provider.instance_of?(::OpenTelemetry::Internal::ProxyTracerProvider)
          application.logger.warn("traces: no SDK is set up, so spans are dropped. Add `gem \"opentelemetry-sdk\"` to the " \
            "Gemfile, and call OpenTelemetry::SDK.configure before the application runs")
        end

        def tracer = ::OpenTelemetry.tracer_provider.tracer(LIBRARY, VERSION)

        def load_gem
          require "opentelemetry"
          %w[consumer_spans job_context letter_spans producer_spans].each { |file| require_relative "open_telemetry/#{file}" }
        rescue LoadError => error
          raise error unless error.path.to_s.start_with?("opentelemetry")
          fail_with("the gem opentelemetry-api can't be loaded (#{error.message})",
            "Add `gem \"opentelemetry-sdk\"` to the Gemfile, which depends on it")
        end

        def fail_with(message, hint) = raise(ConfigurationError.new([Problem.new("OpenTelemetry", message, hint)]))
      end
    end
  end
end
