# frozen_string_literal: true

require_relative "../../nearest"
require_relative "../errors"

module Penstock
  module Testing
    class Kit
      # Finds the route that a test means, and explains what is wrong when there is none.
      class RouteLookup
        # Most names that an error lists.
        LISTED = 10
        @checked = ObjectSpace::WeakMap.new
        private_constant :LISTED

        # Settings and routes are checked once, not for each example.
        # @param application [Application]
        # @return [void]
        # @raise [ConfigurationError] with everything that is wrong
        def self.check(application)
          @checked[application.routes] ||= application.validate!
        end

        # @param routes [Routing::Routes]
        def initialize(routes)
          @routes = routes
        end

        # @param topic [String, Symbol]
        # @param group [String, Symbol, nil]
        # @return [Array(Routing::Topic, String)] the route, and the topic's name
        # @raise [TopicNotFoundError, ConsumerGroupNotFoundError, TopicInManyConsumerGroupsError]
        def call(topic, group = nil)
          name = topic.to_s
          found = one_per_group(topics_named(name))
          not_found(name) if found.empty?
          found = in_group(found, name, group.to_s) if group
          ambiguous(name, found) if found.size > 1
          [with_consumer(found.first), name]
        end

        private

        # A topic, or a pattern by its own name; else what a pattern matches.
        def topics_named(name)
          named = @routes.topics.select { |topic| topic.name == name }
          return named if named.any?

          @routes.consumer_groups.filter_map { |group| @routes.find(name, group.id) }
        end

        # Connections of a multiplexed group, and segments of a split one, have the same routes.
        def one_per_group(topics) = topics.uniq { |topic| group_of(topic) }

        def group_of(topic) = topic.consumer_group.segment_origin || topic.consumer_group_id

        def in_group(found, name, group)
          of_group = found.select { |topic| [group_of(topic), topic.consumer_group_id].include?(group) }
          return of_group if of_group.any?

          groups = found.map { |topic| group_of(topic) }
          raise ConsumerGroupNotFoundError, ["#{name} isn't read by a consumer group #{group}, but by #{groups.join(", ")}",
            *Nearest.hint(group, groups)].join(". ")
        end

        def not_found(name)
          names = @routes.topics.map(&:name).uniq
          listed = names.first(LISTED).join(", ") + (", …" if names.size > LISTED).to_s
          raise TopicNotFoundError, ["no route has the topic #{name}.", *Nearest.hint(name, names),
            names.empty? ? "There are no routes: draw them before the tests" : "The routes have: #{listed}"].join(" ")
        end

        def ambiguous(name, found)
          groups = found.map { |topic| group_of(topic) }
          raise TopicInManyConsumerGroupsError, "#{name} is read by the consumer groups #{groups.join(", ")}: name one, as in " \
            "penstock.consumer_for(:#{name}, :#{groups.first})"
        end

        def with_consumer(topic)
          topic.consumer ? topic : raise(TopicNotFoundError, "#{topic.name} has no consumer: its route only declares the topic")
        end
      end
    end
  end
end
