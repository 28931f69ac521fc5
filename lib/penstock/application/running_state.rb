# frozen_string_literal: true

require_relative "../server/execution_mode"

module Penstock
  class Application
    # Readers for an application that runs. Part of {Application}, whose parts it uses.
    module RunningState
      # @return [Server::Workers, nil] the workers, their number and a `scale`; nil before it runs. Any thread
      def workers = @server&.workers

      # @return [Server::ExecutionMode] :standalone, :embedded, :supervisor or :swarm, comparable with Symbols and Strings
      def execution_mode = Server::ExecutionMode.new(@swarm.supervisor ? :supervisor : @mode)

      # @return [Hash{Routing::Topic => Array<Integer>}] partitions this process has now, also those about to be revoked, but not
      #   lost ones or those of a connection that is gone. Any thread
      def assignments = @partitions.by_topic(@server ? @server.assigned : [])

      # @return [Hash{Routing::Topic => Hash{Integer => Integer}}] how often each partition was assigned since {#run!}: one more
      #   each time it comes back. Any thread
      def generations = @partitions.counts_by_topic(@host ? @host.generations.to_a : [])

      # @param topic [Routing::Topic]
      # @param partition [Integer]
      # @return [Integer] how often it was assigned since {#run!}, 0 for never. Any thread
      def generation(topic, partition) = @host ? @host.generations.of(topic, partition) : 0
    end
  end
end
