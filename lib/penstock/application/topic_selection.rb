# frozen_string_literal: true

module Penstock
  class Application
    # Selects the topics that a process consumes: active ones that pass its filters and belong to its node of a swarm.
    # Stateless.
    class TopicSelection
      # @param routes [Routing::Routes]
      def initialize(routes)
        @routes = routes
      end

      # @param filters [#take?, nil] of the command line
      # @param node [Integer, nil] number of the process in a swarm
      # @return [Array<Routing::SubscriptionGroup>] the groups with topics left, with these topics
      def groups(filters, node)
        groups = @routes.subscription_groups.map do |group|
          group.keep(node) { |topic| wanted?(topic, group, filters, node) }.join(group.consumer_group)
        end
        groups.reject { |group| group.topics.empty? }
      end

      private

      def wanted?(topic, group, filters, node)
        nodes = topic.features[:swarm]
        topic.active? && (filters.nil? || filters.take?(topic, group)) && (nodes.nil? || nodes.take?(node))
      end
    end
  end
end
