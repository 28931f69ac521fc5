# frozen_string_literal: true

require_relative "server"

module Penstock
  module CLI
    module Commands
      # Runs the application as a swarm: a supervisor that forks nodes and looks after them. Each node is a complete
      # server.
      class Swarm < Server
        command "swarm", "Consumes in several processes, forked from one", usage: "[--nodes N] [--report] [options]"
        details <<~TEXT
          Signals, to the supervisor: INT, TERM and QUIT stop all nodes (a second one shortens the wait, a third ends them at
          once), TSTP takes no new work, USR2 replaces the nodes one after another (so does HUP where there is no terminal),
          TTIN logs what every thread does. A node that dies is replaced. The filters are those of `penstock server`. `--report`
          starts nothing: it prints the memory of the processes of running swarms. `pss_mb` divides each shared page by the
          number of processes that share it; `shared` is the part of rss_mb that other processes share. The exit code is 1 when
          a process can't be read or doesn't answer.
        TEXT

        private

        def define(parser)
          parser.value(:nodes, "--nodes N", Integer, "number of nodes, instead of config.swarm.nodes")
          parser.flag(:report, "--report", "print the memory of running swarms, and how much of it is shared")
          parser.flag(:json, "--json", "with --report: as JSON")
          super
        end

        def call(words) = options[:report] ? report : super

        # There are no nodes yet that could be replaced.
        def boot_signals
          idle = %w[USR1 USR2]
          signals = {**super, fatal: [], idle: idle}
          terminal? ? signals : {**signals, stops: %w[INT TERM QUIT], idle: [*idle, "HUP"]}
        end

        def terminal?
          context.stdin.tty?
        rescue IOError # closed
          false
        end

        def report
          require_relative "../control/memory_report"
          session = Control::Session.new(context.env, dir: context.dir)
          found = session.statuses.select { |status| status[:kind] == "swarm" || status[:state] == Control::Session::SILENT }
          raise Usage, "no swarm of this user runs here" if found.empty?
          reports = found.map { |status| Control::MemoryReport.new(status) }
          options[:json] ? say_json(reports.map(&:to_a)) : say(*reports)
          reports.all?(&:complete?) ? ExitCodes::OK : ExitCodes::FAILED
        end

        def loaded
          application = super
          require_relative "../../swarm/supervisor" # here a stop is looked for
          nodes = options[:nodes] or return application
          application.setup { |config| config.swarm.nodes = nodes }
        end

        def run_application(application, filters) = application.swarm!(filters: filters)
      end
    end
  end
end
