# frozen_string_literal: true

require_relative "../errors"
require_relative "../instrumentation/safe_logger"
require_relative "../server/exit_codes"
require_relative "../server/health"
require_relative "../server/thread_dump"
require_relative "node_spawner"
require_relative "node_signals"
require_relative "policy"
require_relative "registry"
require_relative "supervisor_signals"

module Penstock
  module Swarm
    # Supervises the nodes of a swarm: spawns them, watches them, passes signals on. It never opens a connection to Kafka. Runs
    # on the main thread, which waits in one `IO.select` for ends of nodes, their pipes and its signals; the {Registry} decides
    # what to do.
    #
    # Ends when it was stopped and all nodes have ended, or when none can be started. If it dies in any other way, the nodes see
    # the end of the death pipe and end too.
    class Supervisor
      # A turn of the loop that comes this many intervals late means that this process was frozen itself.
      LATE = 2
      KILLED = Signal.list.fetch("KILL")
      private_constant :LATE, :KILLED

      # @return [Registry]
      attr_reader :registry

      # @param application [Application]
      # @param clock [Clock]
      # @param policy [Policy]
      # @param spawner [Class] a {NodeSpawner}
      def initialize(application, clock:, policy: nil, spawner: NodeSpawner)
        @application = application
        @monitor = application.monitor
        @clock = clock
        settings = application.config
        @policy = policy || Policy.new(settings.swarm, settings.shutdown_timeout)
        @registry = Registry.new(settings.swarm.nodes, @policy, now)
        @handles = {}
        @spawner_class = spawner
        @signals = SupervisorSignals.new(children: spawner.needs_sigchld?)
        @code = Server::ExitCodes::OK
      end

      # @return [Integer] exit code
      # @raise [ConfigurationError] this process can't be forked from
      def run
        prepare
        turn until @registry.over?
        exit_code
      rescue => error
        report(error)
        raise
      ensure
        close
      end

      # The following methods take effect in the next turn; before {#run}, and while it warms up, in the first. Any thread.
      def stop! = @signals.post("TERM")
      # Any thread.
      def quiet! = @signals.post("TSTP")
      # Any thread: a rolling restart.
      def restart! = @signals.post("USR2")
      # Any thread: every node, and the supervisor, writes what its threads do to the log.
      def dump! = @signals.post("TTIN")

      # Any thread: every node ends the holds of its open breakers.
      def close_breakers! = @signals.post(:close_breakers)

      # The state of the swarm: live while this process runs turns, ready when every node is in its groups. Any thread.
      # @return [Hash]
      def vitals
        idle_ms = now - (@turned_at || now)
        {live: idle_ms <= Server::Health::LOOP_MS, ready: ready?, rolling: @registry.rolling?, idle_ms: idle_ms,
         nodes: @registry.to_a, mold: @spawner&.to_h}.compact
      end

      private

      def ready?
        @application.lifecycle.state == :supervising && @registry.entries.all?(&:member?)
      end

      def prepare
        @terminal = terminal?
        @signals.install
        @death, @lifeline = IO.pipe
        @spawner = @spawner_class.new(context)
        @signals.until_stop { @spawner.prepare }
        @turned_at = now
      end

      # Checked at the start: once the terminal is gone, stdin no longer shows that there was one; HUP signals its end.
      def terminal?
        $stdin.tty?
      rescue IOError # closed
        false
      end

      def context
        NodeSpawner::SupervisorContext.new(application: @application, registry: @registry, handles: @handles, policy: @policy,
          signals: @signals, death: @death, lifeline: @lifeline, now: method(:now))
      end

      def turn
        wait
        listen
        extend_deadlines if now - @turned_at > LATE * @policy.interval_ms
        @turned_at = now
        reap
        @signals.take_all.each { |message| safely { handle(message) } }
        spawn_due
        @registry.decide(now).each { |decision| safely { carry_out(decision) } }
        @application.lifecycle.enter(:quiet) if @registry.quiet?
      end

      # The swarm continues and can be stopped, even if a listener, a logger or the kernel raises an error for one order.
      def safely
        yield
      rescue => error
        report(error)
      end

      # A defect of the boot file ends the swarm; any other error while spawning doesn't.
      def spawn_due
        @spawner.tick
      rescue ConfigurationError
        raise
      rescue => error
        report(error)
      end

      def report(error) = @monitor.instrument("error.occurred", {type: "swarm.supervisor.error", error: error})

      # At most an interval, so that a late turn is significant.
      def wait
        due = [@registry.next_due, @spawner.next_due].compact.min
        ms = [@policy.interval_ms, *(due && [due - now, 0].max)].min
        IO.select([@signals.io, *@spawner.ios, *@handles.each_value.flat_map(&:ios)], nil, nil, ms / 1_000.0)
      end

      def listen
        @handles.each_value { |handle| handle.read { |message| @registry.received(handle.index, message, now) } }
      end

      def extend_deadlines
        @registry.extend_deadlines(now)
        @spawner.extend_deadlines
      end

      # --- ends

      def reap
        @handles.values.each do |handle|
          status = handle.ended or next
          handle.read { |message| @registry.received(handle.index, message, now) } # its last messages
          @handles.delete(handle.index).close
          ended(handle, *status)
        end
      end

      def ended(handle, code, signal)
        was_killed = @registry.entries[handle.index].killed
        note_code(code, signal, was_killed)
        at = now
        entry = @registry.ended(handle.index, Native::Child.words(code, signal), at,
          failed: code == Server::ExitCodes::CONFIGURATION, from_outside: signal == KILLED)
        wait = entry.due_at - at if entry.due_at && !@registry.at_rest?
        @monitor.instrument("swarm.manager.node_ended",
          {node: identity(handle), pid: handle.pid, reason: entry.reason, timeout: wait})
        held_down(entry) if entry.state == :held_down
      end

      def identity(handle) = NodeIdentity.new(handle.index, handle.pid)

      def held_down(entry)
        @monitor.instrument("swarm.manager.held_down", {node: NodeIdentity.new(entry.index), reason: entry.reason})
      end

      # The exit codes of nodes that were stopped determine that of the swarm.
      def note_code(code, signal, killed)
        return unless @registry.stopping?
        code = Server::ExitCodes::FORCED if killed || signal
        @code = code if code && code > @code
      end

      # --- orders

      def handle(message)
        case message
        when *Server::Signals::STOP then notice(message) { stop }
        when "HUP" then notice(message) { @terminal ? stop : restart }
        when "USR2" then notice(message) { restart }
        when "TSTP" then notice(message) { quiet }
        when "TTIN" then notice(message) { dump }
        when :close_breakers then signal_all(NodeSignals::CLOSE_BREAKERS)
        end
      end

      def notice(name)
        @monitor.instrument("process.notice_signal", {signal: name.to_sym})
        yield
      end

      # A node counts any number of TERMs as one; the second stop has a signal of its own.
      def stop
        again = @registry.stopping?
        @spawner.stop_spawning
        @application.lifecycle.enter(:stopping)
        @registry.stop(now).each do |order|
          safely { carry_out(order, (again && order.name == "TERM") ? NodeSignals::HURRY : order.name) }
        end
      end

      def restart
        @monitor.instrument("swarm.manager.restarting", {count: @handles.size}) if @registry.restart(now)
      end

      def quiet
        @application.lifecycle.enter(:quieting)
        @spawner.stop_spawning
        @registry.quiet
        signal_all("TSTP")
      end

      def dump
        signal_all("TTIN")
        logger = Instrumentation::SafeLogger.of(@application.logger)
        Server::ThreadDump.lines.each { |line| logger.warn(line) }
        @registry.entries.each { |entry| logger.warn(entry.to_h.compact.inspect) }
      end

      # A node that may not be signalled (it changed its user) doesn't prevent signals to the others.
      def signal_all(name) = @handles.each_value { |handle| safely { handle.signal(name) } }

      # --- decisions

      def carry_out(decision, signal = nil)
        return spawn(decision.index) if decision.is_a?(Registry::Fork)
        handle = @handles[decision.index] or return
        name = signal || decision.name
        event = (name == "KILL") ? "swarm.manager.terminating" : "swarm.manager.stopping"
        @monitor.instrument(event, {node: identity(handle), pid: handle.pid, reason: decision.reason})
        handle.signal(name)
      end

      # A node that wasn't forked, and isn't to be forked by the mold, would be due again at once.
      def spawn(index)
        @spawner.spawn(index)
      rescue => error
        report(error)
        return unless @registry.entries[index].state == :exited
        @registry.unforkable(index, "#{error.class}: #{error.message}", now)
      end

      # --- the end

      def exit_code
        return Server::ExitCodes::FORCED if @registry.hurried?
        return Server::ExitCodes::UNBOOTABLE if @registry.entries.any? { |entry| entry.state == :held_down }
        @code
      end

      # Remaining nodes (only where this process fails) see the end of the pipe.
      def close
        @signals.restore
        @spawner&.close
        [@signals, @lifeline, @death, *@handles.values].compact.each(&:close)
      end

      def now = @clock.monotonic_ms
    end
  end
end
