# frozen_string_literal: true

module Penstock
  class Application
    # Groups the partitions a process has by the topics of its routes. Owned by the application; any thread.
    class AssignedPartitions
      # @param routes [#call] returns {Routing::Routes}
      def initialize(routes)
        @routes = routes
        @discovered = {}
      end

      # @param pairs [Array<Array(Routing::Topic, Integer)>] topics and partitions, of all connections
      # @return [Hash{Routing::Topic => Array<Integer>}] partitions, sorted and without duplicates
      def by_topic(pairs)
        pairs.group_by { |topic, _partition| routed(topic) }.transform_values { |rows| rows.map(&:last).uniq.sort }
      end

      # @param triples [Array<Array(Routing::Topic, Integer, Integer)>] topics, partitions and counts
      # @return [Hash{Routing::Topic => Hash{Integer => Integer}}] counts by partition
      def counts_by_topic(triples)
        triples.group_by { |topic, *| routed(topic) }
          .transform_values { |rows| rows.to_h { |_topic, partition, count| [partition, count] } }
      end

      private

      # The topic as defined in the routes; a topic discovered by a pattern isn't among them.
      def routed(topic)
        @routes.call.topics.find { |one| one.id == topic.id } || @discovered[topic.id] ||= topic
      end
    end
  end
end
