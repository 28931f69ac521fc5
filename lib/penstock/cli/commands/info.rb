# frozen_string_literal: true

require_relative "../../server/compiler"
require_relative "../../version"
require_relative "../boot"
require_relative "../command"

module Penstock
  module CLI
    module Commands
      # Prints versions, settings and counts of the application on one screen. Connects to nothing.
      class Info < Command
        command "info", "Prints versions, settings and counts of the application"

        private

        def define(parser)
          parser.flag(:json, "--json", "as JSON")
        end

        def call(_words)
          boot = Boot.new(context)
          facts = facts_of(boot.application, boot)
          return say_json(facts) if options[:json]

          width = facts.keys.map(&:size).max + 1
          facts.each { |name, value| say "#{"#{name}:".ljust(width)} #{value}" }
        end

        def facts_of(application, boot)
          routes = application.validate!.routes
          {
            penstock: VERSION, ruby: RUBY_DESCRIPTION, yjit: yjit(application.config), librdkafka: Native::LIBRDKAFKA_VERSION,
            boot_file: boot.path, environment: application.config.environment.to_s, client_id: application.config.client_id,
            threads: application.config.concurrency, consumer_groups: routes.consumer_groups.size,
            subscription_groups: routes.subscription_groups.size, topics: routes.topics.size
          }
        end

        # Whether a server would run with YJIT.
        def yjit(config)
          state = Penstock::Server::Compiler.state
          return state.to_s unless state == :off
          return "off (config.yjit)" unless config.yjit
          RubyVM::YJIT.respond_to?(:enable) ? "on in servers" : "off (start Ruby #{RUBY_VERSION} with RUBYOPT=--yjit)"
        end
      end
    end
  end
end
