# frozen_string_literal: true

require_relative "lines"

module Penstock
  module Instrumentation
    # The lines of {LoggerListener} about a swarm.
    module SwarmLines
      def on_swarm_manager_after_fork(event)
        @logger.info { "node #{event[:node]}: forked (pid #{event[:pid]})" }
      end

      def on_swarm_manager_restarting(event)
        @logger.info { "a rolling restart of #{event[:count]} nodes begins" }
      end

      def on_swarm_manager_stopping(event)
        @logger.info { "node #{event[:node]} (pid #{event[:pid]}): asked to stop#{Lines.reason(event)}" }
      end

      def on_swarm_manager_terminating(event)
        @logger.error { "node #{event[:node]} (pid #{event[:pid]}): killed#{Lines.reason(event)}" }
      end

      def on_swarm_manager_node_ended(event)
        wait = event[:timeout]
        level = (event[:reason] == "exit code 0") ? :info : :warn
        @logger.public_send(level) do
          "node #{event[:node]} (pid #{event[:pid]}): ended#{Lines.reason(event)}#{", the next in #{wait} ms" if wait}"
        end
      end

      def on_swarm_manager_held_down(event)
        @logger.fatal { "node #{event[:node]}: not started again#{Lines.reason(event)}" }
      end

      def on_swarm_mold_forked(event)
        @logger.debug { "mold: forked (pid #{event[:pid]})" }
      end

      def on_swarm_mold_warm(event)
        @logger.info { "mold (pid #{event[:pid]}): warm after #{event[:time]} ms" }
      end

      def on_swarm_mold_ended(event)
        wait = event[:timeout]
        @logger.warn { "mold (pid #{event[:pid]}): ended#{Lines.reason(event)}#{", the next in #{wait} ms" if wait}" }
      end

      def on_swarm_mold_given_up(event)
        @logger.warn { "nodes are forked from the supervisor, without a mold#{Lines.reason(event)}" }
      end
    end
  end
end
