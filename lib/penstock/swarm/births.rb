# frozen_string_literal: true

require_relative "../native/child"
require_relative "image"
require_relative "node"
require_relative "node_handle"

module Penstock
  module Swarm
    # How nodes come into being: here by a fork of the supervisor itself. The {Registry} says when, what becomes of them is told
    # to it. Used by the supervisor's main thread.
    class Births
      # What the supervisor shares. `handles` are the living nodes by index, `death` and `lifeline` the two ends of the death
      # pipe, `now` gives the monotonic time in ms.
      Household = Struct.new(:application, :registry, :handles, :policy, :signals, :death, :lifeline, :now, keyword_init: true)

      # @return [Boolean] whether SIGCHLD has to wake the supervisor
      def self.needs_sigchld?
        probe = Native::Child.new(::Process.pid)
        probe.io.nil?
      ensure
        probe.close
      end

      # @param household [Household]
      def initialize(household)
        @household = household
      end

      # Before the first birth.
      # @raise [ConfigurationError] nothing can be forked here
      def prepare = Image.prepare(application)

      # @param index [Integer] a node that is to be
      def bear(index)
        monitor.instrument("swarm.manager.before_fork", {node: index})
        reports, writer = IO.pipe
        pid = fork_node(index, reports, writer)
        writer.close
        born(index, NodeHandle.new(index, pid, reports))
      rescue SystemCallError => error # no memory, no more processes
        [reports, writer].each { |io| io&.close }
        unborn(index, error)
      end

      # @return [Array<IO>] what tells that {turn} has something to do
      def ios = []
      # @return [Integer, nil] ms (monotonic) when it has
      def next_due = nil
      # Reads, waits for what has ended, decides.
      def turn = nil
      # The supervisor itself was frozen.
      def forgive = nil
      # No births any more.
      def cease = nil
      def close = nil
      # @return [Hash, nil] for whoever wants to see it
      def to_h = nil

      private

      def application = @household.application
      def monitor = application.monitor
      def registry = @household.registry
      def now = @household.now.call

      # Behind the fork nothing of the supervisor's goes on: `exit` runs what the application registered, and no `ensure` of ours,
      # for those look whose process it is.
      def fork_node(index, reports, writer)
        supervisor = ::Process.pid
        ::Process.fork do
          inheritance = Node::Inheritance.new(index: index, supervisor_pid: supervisor, pipe: writer, death: @household.death,
            foreign: [*foreign, reports], signals: @household.signals)
          exit(Node.new(application, inheritance).run)
        end
      end

      # What a child of the supervisor closes.
      def foreign = [@household.lifeline, @household.signals, *@household.handles.values]

      def born(index, handle)
        @household.handles[index] = handle
        registry.forked(index, handle.pid, now)
        monitor.instrument("swarm.manager.after_fork", {node: index, pid: handle.pid})
      end

      def unborn(index, error)
        registry.unforkable(index, "#{error.class}: #{error.message}", now)
        monitor.instrument("error.occurred", {type: "swarm.supervisor.error", error: error})
      end
    end
  end
end
