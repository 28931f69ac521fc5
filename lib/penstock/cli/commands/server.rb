# frozen_string_literal: true

require_relative "../../on_demand"
require_relative "../boot"
require_relative "../command"

module Penstock
  module CLI
    module Commands
      # Runs the application until it is stopped, and returns the exit code of the stop. The application handles
      # signals, the stages of the stop, and dumps; this command only loads it and narrows down what it consumes.
      class Server < Command
        command "server", "Consumes until stopped", aliases: %w[s consumer]
        details <<~TEXT
          Signals: INT, TERM, QUIT and HUP stop the server (a second one shortens the wait, a third ends it at once), TSTP takes
          no new work, TTIN logs what every thread does. The filters take names as in the routes, separated by commas; a name
          that is both included and excluded runs. An unknown name is an error.
        TEXT

        KINDS = {
          consumer_groups: "consumer groups", subscription_groups: "subscription groups", topics: "topics"
        }.freeze

        private

        def define(parser)
          parser.list(:include_consumer_groups, "-g", "--include-consumer-groups NAMES", "--consumer-groups NAMES",
            "only these consumer groups")
          parser.list(:include_subscription_groups, "--include-subscription-groups NAMES", "--subscription-groups NAMES",
            "only these subscription groups")
          parser.list(:include_topics, "--include-topics NAMES", "--topics NAMES", "only these topics")
          KINDS.each do |kind, text|
            parser.list(:"exclude_#{kind}", "--exclude-#{kind.to_s.tr("_", "-")} NAMES", "not these #{text}")
          end
        end

        # In effect until the application installs its own handlers; it has none for USR1 and USR2.
        def boot_signals
          {stops: %w[INT TERM QUIT HUP], kept: %w[TSTP TTIN], fatal: %w[USR1 USR2], code: ExitCodes::OK}
        end

        def loaded = Boot.new(context).application

        def call(_words)
          # Supervisors and log collectors read what consumers print and want it without delay.
          context.stdout.sync = true
          require_relative "../../server/boot_signals"
          Penstock::Server::BootSignals.hold(**boot_signals) do
            application, filters = prepared
            run_application(application.controllable!, filters)
          end
        end

        def prepared
          application = loaded.validate!
          require_relative "../filters"

          filters = Filters.new(**options.slice(*Filters::OPTIONS))
          filters.check(application.routes)
          show_state(application)
          [application, filters]
        end

        # `pgrep -f` looks for the kind.
        def show_state(application)
          kind = self.class.command_name
          application.monitor.subscribe(Instrumentation::ProctitleListener.new do
            "penstock #{application.node ? "node" : kind} #{application.config.client_id}"
          end)
        end

        def run_application(application, filters) = application.run!(filters: filters)
      end
    end
  end
end
