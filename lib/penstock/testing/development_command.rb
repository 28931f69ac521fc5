# frozen_string_literal: true

require_relative "../cli/commands/server"

module Penstock
  module Testing
    # `penstock development`: the server, with an embedded broker where the application expects one on this machine and none
    # listens. `exe/penstock` adds this command to those of the command line.
    class DevelopmentCommand < CLI::Commands::Server
      command "development", "Consumes until stopped, with an embedded broker if none listens", aliases: %w[dev]
      details <<~TEXT
        Like `penstock server`. If the first address in `bootstrap.servers` that is on this machine has no broker, an embedded
        one (see `penstock broker`) is started there, with the topics of the routes; it ends with this process, and its
        records with it. Not in production. Puma's plugin runs this command: see docs/rails.md.
      TEXT

      private

      def define(parser)
        super
        parser.flag(:stop_with_stdin, "--stop-with-stdin", "stop when the parent process ends, or the standard input is closed")
      end

      def call(words)
        watch_parent if options[:stop_with_stdin]
        super
      ensure
        @broker&.stop
      end

      # Before the application is loaded nothing needs an orderly end.
      def watch_parent
        require_relative "parent_watch"
        ParentWatch.new(context.stdin) { @application ? @application.stop! : ::Process.kill(:TERM, ::Process.pid) }
      end

      def prepared
        super.tap do |application, _filters|
          @application = application
          refuse_production(application)
          start_broker(application)
        end
      end

      def refuse_production(application)
        return unless application.config.environment.production?
        fail_usage "not in production: it may start a broker that keeps its records in memory. Use `penstock server`"
      end

      def start_broker(application)
        require_relative "local_broker"
        @broker = LocalBroker.start_for(application) or return
        say "penstock: an embedded broker listens at #{@broker.bootstrap_servers}; its records are gone when it ends"
      end
    end
  end
end
