# frozen_string_literal: true

require_relative "lines"

module Penstock
  module Instrumentation
    # The lines of {LoggerListener} about a swarm.
    module SwarmLines
      def on_swarm_manager_after_fork(event)
        @log.info(event) { "node #{event[:node]}: forked (pid #{event[:pid]})" }
      end

      def on_swarm_manager_restarting(event)
        @log.info(event) { "a rolling restart of #{event[:count]} nodes begins" }
      end

      def on_swarm_manager_stopping(event)
        @log.info(event) { "node #{event[:node]} (pid #{event[:pid]}): asked to stop#{Lines.reason(event)}" }
      end

      def on_swarm_manager_terminating(event)
        @log.error(event) { "node #{event[:node]} (pid #{event[:pid]}): killed#{Lines.reason(event)}" }
      end

      def on_swarm_manager_node_ended(event)
        wait = event[:timeout]
        level = (event[:reason] == "exit code 0") ? :info : :warn
        @log.public_send(level, event) do
          "node #{event[:node]} (pid #{event[:pid]}): ended#{Lines.reason(event)}#{", the next in #{wait} ms" if wait}"
        end
      end

      def on_swarm_manager_held_down(event)
        @log.fatal(event) do
          "node #{event[:node]}: not started again#{Lines.reason(event)}: it ended during its start, and its lines above have " \
            "the cause. Fix it, then restart the swarm"
        end
      end

      def on_swarm_mold_forked(event)
        @log.debug(event) { "mold: forked (pid #{event[:pid]})" }
      end

      def on_swarm_mold_warm(event)
        @log.info(event) { "mold (pid #{event[:pid]}): warm after #{event[:time]} ms" }
      end

      def on_swarm_mold_ended(event)
        wait = event[:timeout]
        @log.warn(event) { "mold (pid #{event[:pid]}): ended#{Lines.reason(event)}#{", the next in #{wait} ms" if wait}" }
      end

      def on_swarm_mold_given_up(event)
        @log.warn(event) { "nodes are forked from the supervisor, without a mold#{Lines.reason(event)}" }
      end
    end
  end
end
