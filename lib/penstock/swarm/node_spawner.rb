# frozen_string_literal: true

require_relative "../native/child"
require_relative "image"
require_relative "node"
require_relative "node_handle"

module Penstock
  module Swarm
    # Spawns the nodes of a swarm by forking the supervisor. The {Registry} decides when, and gets the result of each fork.
    # Owned by the {Supervisor} and used on its main thread; ends with {#close}. {MoldNodeSpawner} is the variant that uses a
    # mold.
    class NodeSpawner
      # State that the supervisor shares. `handles` are the living nodes by index, `death` and `lifeline` the two ends of the
      # death pipe, `now` returns the monotonic time in ms.
      SupervisorContext = Struct.new(:application, :registry, :handles, :policy, :signals, :death, :lifeline, :now,
        keyword_init: true)

      # @return [Boolean] whether SIGCHLD has to wake the supervisor
      def self.needs_sigchld?
        probe = Native::Child.new(::Process.pid)
        probe.io.nil?
      ensure
        probe.close
      end

      # @param context [SupervisorContext]
      def initialize(context)
        @context = context
      end

      # Called before the first node is spawned.
      # @raise [ConfigurationError] this process can't be forked from
      def prepare = Image.prepare(application)

      # @param index [Integer] the node to spawn
      def spawn(index)
        monitor.instrument("swarm.manager.before_fork", {node: NodeIdentity.new(index)})
        reports, writer = IO.pipe
        pid = fork_node(index, reports, writer)
        writer.close
        spawned(index, NodeHandle.new(index, pid, reports))
      rescue SystemCallError => error # no memory, no more processes
        [reports, writer].each { |io| io&.close }
        spawn_failed(index, error)
      end

      # @return [Array<IO>] readable when {#tick} has something to do
      def ios = []
      # @return [Integer, nil] ms (monotonic) when {#tick} is due
      def next_due = nil
      # Reads answers, reaps ended processes, sends the next request.
      def tick = nil
      # The supervisor itself was frozen: processes that seem late may not be.
      def extend_deadlines = nil
      # No more nodes are spawned.
      def stop_spawning = nil
      def close = nil
      # @return [Hash, nil] the state of the mold, if there is one, for `vitals`
      def to_h = nil

      private

      def application = @context.application
      def monitor = application.monitor
      def registry = @context.registry
      def now = @context.now.call

      # After the fork none of the supervisor's work continues in the child: `exit` runs what the application registered, and our
      # own `ensure` blocks check which process they run in.
      def fork_node(index, reports, writer)
        supervisor = ::Process.pid
        ::Process.fork do
          inheritance = Node::Inheritance.new(index: index, supervisor_pid: supervisor, pipe: writer, death: @context.death,
            foreign: [*foreign, reports], signals: @context.signals)
          exit(Node.new(application, inheritance).run)
        end
      end

      # Descriptors that a child of the supervisor closes.
      def foreign = [@context.lifeline, @context.signals, *@context.handles.values]

      def spawned(index, handle)
        @context.handles[index] = handle
        registry.forked(index, handle.pid, now)
        monitor.instrument("swarm.manager.after_fork", {node: NodeIdentity.new(index, handle.pid), pid: handle.pid})
      end

      def spawn_failed(index, error)
        registry.unforkable(index, "#{error.class}: #{error.message}", now)
        monitor.instrument("error.occurred", {type: "swarm.supervisor.error", error: error})
      end
    end
  end
end
