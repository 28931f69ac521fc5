# frozen_string_literal: true

require_relative "server"

module Penstock
  module CLI
    module Commands
      # Runs the application as a swarm: a supervisor that forks nodes, each of them a whole server, and looks after them.
      class Swarm < Server
        command "swarm", "Consumes in several processes, forked from one", usage: "[--nodes N] [options]"
        details <<~TEXT
          Signals, to the supervisor: INT, TERM and QUIT stop all nodes (a second one hurries, a third ends at once), TSTP
          takes no new work, USR2 replaces the nodes one after another (as HUP does where there is no terminal), TTIN prints
          what every thread does. A node that dies is replaced. The filters are those of `penstock server`.
        TEXT

        private

        def define(parser)
          parser.value(:nodes, "--nodes N", Integer, "how many nodes, instead of config.swarm.nodes")
          super
        end

        def loaded
          application = super
          nodes = options[:nodes] or return application
          application.setup { |config| config.swarm.nodes = nodes }
        end

        def run_application(application, filters) = application.swarm!(filters: filters)
      end
    end
  end
end
