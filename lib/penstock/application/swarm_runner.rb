# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"

module Penstock
  class Application
    # Runs an application as a swarm: a supervisor that forks nodes, each of which runs the application. Owned by the
    # application; {#run} runs on the main thread of the supervisor's process. Every node and mold has a copy of it, which keeps
    # the filters and forgets the supervisor.
    class SwarmRunner
      # @return [Swarm::Supervisor, nil] nil before {#run}, and in a node or a mold
      attr_reader :supervisor

      # @return [#take?, nil] which routed topics the nodes consume
      attr_reader :filters

      # @param application [Application] the one that nodes run
      # @param consumed [#call] returns the groups to consume, for given filters and a node's number
      # @param stopped [#call] returns whether the application was stopped
      def initialize(application, consumed:, stopped:)
        @application = application
        @consumed = consumed
        @stopped = stopped
        @filters = @supervisor = nil
      end

      # Forks `config.swarm.nodes` nodes and supervises them until a signal or `stop!` stops them.
      # @param filters [#take?, nil] which routed topics the nodes consume
      # @yieldparam supervisor [Swarm::Supervisor] for the block to run
      # @return [Integer] exit code, the block's
      # @raise [ConfigurationError] a node would have no topics, or this process can't be forked from
      def run(filters)
        @filters = filters
        refuse_idle_nodes
        lifecycle.enter(:initialized)
        @supervisor = build_supervisor
        @supervisor.stop! if @stopped.call
        lifecycle.enter(:supervising)
        code = yield @supervisor
        %i[stopped terminated].each { |state| lifecycle.enter(state) }
        code
      end

      # Called in a node or a mold, after the fork.
      def forget_supervisor = @supervisor = nil

      # @return [Array<Hash>] the nodes: number, state, process id, last report; empty without a supervisor
      def nodes = @supervisor ? @supervisor.registry.to_a : []

      private

      def lifecycle = @application.lifecycle
      def settings = @application.config.swarm

      def build_supervisor
        require_relative "../swarm/supervisor"
        Swarm::Supervisor.new(@application, clock: Clock::SYSTEM, spawner: spawner)
      end

      def spawner
        return Swarm::NodeSpawner unless settings.mold
        require_relative "../swarm/mold_node_spawner"
        Swarm::MoldNodeSpawner
      end

      # A node without a topic would end at once, over and over.
      def refuse_idle_nodes
        idle = Array.new(settings.nodes) { |index| index }.select { |index| @consumed.call(@filters, index).empty? }
        return if idle.empty?
        raise ConfigurationError.new([Problem.new("routes", "No topics to subscribe to for node #{idle.join(", ")} of the swarm",
          "Configure fewer nodes, or set `swarm nodes:` on more topics")])
      end
    end
  end
end
