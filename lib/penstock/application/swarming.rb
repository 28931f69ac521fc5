# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"
require_relative "molding"

module Penstock
  class Application
    # An application as a swarm: a supervisor that forks nodes, each of which runs the application. What is called in which
    # process is said with each method.
    module Swarming
      # Forks `config.swarm.nodes` nodes and looks after them until a signal or `stop!` stops them. Call it on the main thread.
      # @param filters [#take?, nil] which routed topics the nodes consume
      # @return [Integer] exit code
      # @raise [ConfigurationError]
      def swarm!(filters: nil)
        Molding.refuse_to_run
        require_relative "../swarm/supervisor"
        validate!
        log_by_default
        FormerVariables.warn_of(ENV, logger)
        @filters = filters
        idle_nodes
        @lifecycle.enter(:initialized)
        @supervisor = Swarm::Supervisor.new(self, clock: Clock::SYSTEM, births: births)
        @supervisor.stop! if @stopped
        @lifecycle.enter(:supervising)
        code = with_doors do
          tell_service_manager
          @supervisor.run
        end
        %i[stopped terminated].each { |state| @lifecycle.enter(state) }
        code
      end

      # Replaces the nodes of a swarm, one after another. In the supervisor, any thread; does nothing elsewhere.
      def restart! = @supervisor&.restart!

      # Lets the process, and all its nodes, write to the log what their threads do. Any thread.
      def dump! = (@supervisor || @server)&.dump!

      # How this process does; nil before it runs, and in a supervisor. Any thread.
      # @return [ServerProcess::Health, nil]
      def health = @server&.health

      # The nodes, in their supervisor: number, state, process id, what they last reported. Empty elsewhere. Any thread.
      # @return [Array<Hash>]
      def nodes = @supervisor ? @supervisor.registry.to_a : []

      # @return [Integer, nil] which node of a swarm this process is
      def node = config.node

      # Loads what `require "penstock"` loads on first use, before nodes are forked; but what is for other servers' processes,
      # and for tests.
      # @api private
      def eager_load = Penstock.load_on_demand(except: %i[Embedded Lint])

      # In a mold, before anything else.
      # @api private
      def become_mold
        forget_doors
        @supervisor = nil
      end

      # In a node, before anything else.
      # @param index [Integer]
      # @api private
      def become_node(index)
        forget_doors
        @supervisor = @server_id = nil
        @stopped = false # the supervisor's stop is told by a signal
        @settings = config.for_node(index)
        logger.progname = "penstock node #{index}" if config.logger.nil?
        own_producer
      end

      # In a node.
      # @param signals [Swarm::NodeSignals] installed
      # @return [Integer] exit code
      # @api private
      def run_as_node(signals) = run!(filters: @filters, traps: false, signals: signals)

      # In a node whose supervisor is gone. Any thread.
      # @api private
      def orphaned! = @server ? @server.orphaned! : exit!(ServerProcess::ExitCodes::ORPHANED)

      private

      # A boot file may have it already, to listen to it: then with the names of the supervisor, which all nodes would share.
      def own_producer
        return if @producer.nil? || @producer.equal?(config.producer)
        @producer.reconfigure(producer_settings.kafka)
      end

      # Who forks the nodes.
      def births
        return Swarm::Births unless config.swarm.mold
        require_relative "../swarm/mold_births"
        Swarm::MoldBirths
      end

      # A node without a topic would end at once, over and over.
      def idle_nodes
        idle = Array.new(config.swarm.nodes) { |index| index }.select { |index| consumed(@filters, index).empty? }
        return if idle.empty?
        raise ConfigurationError.new([Problem.new("routes", "No topics to subscribe to for node #{idle.join(", ")} of the swarm",
          "Fewer nodes, or `swarm nodes:` of more topics")])
      end
    end
  end
end
