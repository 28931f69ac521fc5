# frozen_string_literal: true

require_relative "../boot"
require_relative "../command"

module Penstock
  module CLI
    module Commands
      # Runs the application until it is told to stop, and answers the exit code of its stop. Signals, stages of the stop
      # and dumps belong to the application; this only loads it and narrows down what it consumes.
      class Server < Command
        command "server", "Consumes until stopped", aliases: %w[s consumer]
        details <<~TEXT
          Signals: INT, TERM, QUIT and HUP stop (a second one hurries, a third ends at once), TSTP takes no new work, TTIN
          prints what every thread does. The filters take names as the routes have them, separated by commas; what is
          both included and excluded runs. An unknown name is an error.
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

        # Until the application has its own handlers. USR1 and USR2 are Ruby's, as later.
        def boot_signals = {stops: %w[INT TERM QUIT HUP], kept: %w[TSTP TTIN], code: ExitCodes::OK}

        def loaded = Boot.new(context).application

        def call(_words)
          # What consumers print is read by supervisors and log collectors, which want it when it happens.
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

        # The kind is what `pgrep -f` looks for.
        def show_state(application)
          require_relative "../../instrumentation/proctitle_listener"
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
