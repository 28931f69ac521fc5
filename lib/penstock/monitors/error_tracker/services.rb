# frozen_string_literal: true

require_relative "../../errors"

module Penstock
  module Monitors
    class ErrorTracker
      # How the services that {ErrorTracker} knows are called. Their gems are the application's, which sets them up.
      module Services
        # A service: its gem, and how an error is sent to it with its context.
        Service = Struct.new(:gem, :call)
        # Parts of the context to search by, where the service has tags.
        TAGS = %i[topic consumer type].freeze

        # The action that AppSignal shows: `OrdersConsumer#consume`, or the type of what has no consumer.
        ACTION = lambda do |context|
          hook = context[:type].to_s[/\Aconsumer\.(\w+)\.error\z/, 1]
          context[:consumer] ? "#{context[:consumer]}##{hook || "consume"}" : context[:type].to_s
        end

        LIST = {
          sentry: Service.new("sentry-ruby", lambda do |error, context|
            ::Sentry.capture_exception(error, tags: context.slice(*TAGS), contexts: {"penstock" => context})
          end),
          honeybadger: Service.new("honeybadger", lambda do |error, context|
            ::Honeybadger.notify(error, component: context[:consumer], action: context[:type], context: context)
          end),
          bugsnag: Service.new("bugsnag", lambda do |error, context|
            ::Bugsnag.notify(error) do |event|
              event.severity = "error"
              event.context = [context[:consumer], context[:type]].compact.join(" ")
              event.add_metadata(:penstock, context)
            end
          end),
          appsignal: Service.new("appsignal", lambda do |error, context, namespace = "background_job"|
            ::Appsignal.report_error(error) do |transaction|
              transaction.set_namespace(namespace)
              transaction.set_action_if_nil(ACTION.call(context))
              transaction.add_tags(context)
            end
          end)
        }.freeze
        private_constant :Service, :TAGS, :ACTION

        module_function

        # @param name [Symbol] a key of {LIST}
        # @return [#call] gets an error and its context
        # @raise [ConfigurationError] if its gem can't be loaded
        def load(name)
          service = LIST.fetch(name)
          require service.gem
          service.call
        rescue LoadError => error
          raise ConfigurationError.new([Problem.new("ErrorTracker #{name.inspect}",
            "the gem #{service.gem} can't be loaded (#{error.message})", "Add `gem \"#{service.gem}\"` to the Gemfile")])
        end
      end
    end
  end
end
