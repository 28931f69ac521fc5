# frozen_string_literal: true

require_relative "../errors"
require_relative "../execution/processes/orphans"
require_relative "../instrumentation/safe_logger"
require_relative "../native/death_pipe"
require_relative "../server/exit_codes"
require_relative "../runtime/threads"
require_relative "node_identity"
require_relative "node_signals"
require_relative "reports"
require_relative "watchman"

module Penstock
  module Swarm
    # Runs inside a forked node: a whole server, like that of `penstock server`, that reports to the supervisor and ends with
    # it. Runs on the child's main thread.
    class Node
      # Time from the end of the supervisor to `_exit(3)`.
      ORPHANED_MS = 4_000
      private_constant :ORPHANED_MS

      # A node is forked with these values. It closes `foreign`, its parent's descriptors; a node that a mold forked waits for a
      # byte on `go_ahead` before it begins.
      Inheritance = Struct.new(:index, :supervisor_pid, :pipe, :death, :foreign, :signals, :go_ahead, keyword_init: true)

      # @param application [#run_as_node, #health, #orphaned!, #config, #monitor]
      # @param inheritance [Inheritance]
      def initialize(application, inheritance)
        @application = application
        @inherited = inheritance
        @signals = NodeSignals.new
        @jobs = 0
      end

      # @return [Integer] exit code
      def run
        settle_in
        code = serve
        @reports.stopped(code)
        code
      ensure
        @watchman&.close
        @thread&.join # the death pipe is watched to the very end: at_exit blocks may hang too
      end

      private

      # In this order: first close what holds the death pipe open, then watch it, then everything else.
      def settle_in
        @inherited.foreign.each(&:close)
        Native::DeathPipe.watch(@inherited.death, grace_ms: ORPHANED_MS)
        @signals.install
        @signals.take_over(@inherited.signals)
        await_go_ahead
        Execution::Processes::Orphans.die_with_parent(@inherited.supervisor_pid, "TERM")
        @reports = Reports.new(@inherited.pipe)
        @application.become_node(@inherited.index)
      end

      # No byte comes if the supervisor is gone, or has dropped the request for this node.
      def await_go_ahead
        go_ahead = @inherited.go_ahead or return
        exit!(Server::ExitCodes::ORPHANED) unless go_ahead.read(1)
        go_ahead.close
      end

      def serve
        listen
        @watchman = watchman
        @thread = Runtime::Threads.new(method(:thread_died)).start("penstock watchman") { @watchman.run }
        @application.monitor.instrument("swarm.node.after_fork", {node: NodeIdentity.new(@inherited.index, ::Process.pid),
          pid: ::Process.pid})
        @application.run_as_node(@signals)
      rescue ConfigurationError => error
        Instrumentation::SafeLogger.of(@application.logger).fatal(error.message)
        Server::ExitCodes::CONFIGURATION
      end

      # Counting costs an event per unit: only where there is a limit.
      def listen
        @application.monitor.subscribe("app.stopping") { @reports.stopping(@application.config.shutdown_timeout) }
        return unless settings.jobs_limit
        @application.monitor.subscribe("worker.completed") { @jobs += 1 }
      end

      def watchman
        Watchman.new(reports: @reports, death: @inherited.death, interval_ms: settings.supervision_interval,
          health: @application.method(:health), jobs: -> { @jobs if settings.jobs_limit },
          orphaned: @application.method(:orphaned!))
      end

      def settings = @application.config.swarm

      def thread_died(name, error)
        @application.monitor.instrument("error.occurred", {type: "worker.process.error", error: error, thread: name})
      end
    end
  end
end
