# frozen_string_literal: true

require_relative "../errors"
require_relative "../nearest"

module Penstock
  module CLI
    # Which of the routed groups and topics this process consumes. A pure value: names in, answers out.
    #
    # A kind (consumer groups, subscription groups, topics) that includes names takes only these; one that excludes names
    # takes all but these; a name in both is taken. A topic is consumed when its group, its subscription group and the
    # topic itself are taken.
    class Filters
      KINDS = %i[consumer_groups subscription_groups topics].freeze
      OPTIONS = KINDS.flat_map { |kind| [:"include_#{kind}", :"exclude_#{kind}"] }.freeze

      # @param names [Hash{Symbol => Array<String>}] by {OPTIONS}
      def initialize(**names)
        unknown = names.keys - OPTIONS
        raise ArgumentError, "no such filters: #{unknown.join(", ")}" if unknown.any?

        @names = names.transform_values { |list| list.map(&:to_s) }
        freeze
      end

      # @return [Boolean] nothing is filtered
      def empty?
        @names.values.all?(&:empty?)
      end

      # @param topic [Routing::Topic]
      # @param subscription_group [Routing::SubscriptionGroup]
      # @return [Boolean]
      def take?(topic, subscription_group)
        group = subscription_group.consumer_group
        taken?(:consumer_groups, [group.id, group.name]) &&
          taken?(:subscription_groups, [subscription_group.id, subscription_group.name]) &&
          taken?(:topics, [topic.name])
      end

      # @param routes [Routing::Routes]
      # @return [void]
      # @raise [ConfigurationError] names nobody routed, or nothing is left to consume
      def check(routes)
        problems = KINDS.flat_map { |kind| unknown_names(kind, known(kind, routes)) }
        problems << nothing_left if problems.empty? && none_left?(routes)
        raise ConfigurationError.new(problems) if problems.any?
      end

      private

      def taken?(kind, names)
        included = @names.fetch(:"include_#{kind}", [])
        excluded = @names.fetch(:"exclude_#{kind}", [])
        return true if names.intersect?(included)

        included.empty? && !names.intersect?(excluded)
      end

      def known(kind, routes)
        case kind
        when :consumer_groups then routes.consumer_groups.flat_map { |group| [group.id, group.name] }
        when :subscription_groups then routes.subscription_groups.flat_map { |group| [group.id, group.name] }
        when :topics then routes.topics.map(&:name)
        end.map(&:to_s).uniq
      end

      # A topic that only a pattern will find can't be known yet.
      def unknown_names(kind, known)
        given = %w[include exclude].flat_map { |verb| @names.fetch(:"#{verb}_#{kind}", []).map { |name| [verb, name] } }
        given.reject { |_, name| known.include?(name) }.map do |verb, name|
          Problem.new("--#{verb}-#{kind.to_s.tr("_", "-")}", "there is no #{name} in the routes", hint(name, known))
        end
      end

      def hint(name, known)
        Nearest.hint(name, known) || (known.any? ? "There are #{known.first(10).join(", ")}" : nil)
      end

      def none_left?(routes)
        routes.subscription_groups.none? do |group|
          group.topics.any? { |topic| topic.active? && take?(topic, group) }
        end
      end

      def nothing_left
        Problem.new(nil, "No topics to subscribe to", "Every routed topic is filtered out or not active")
      end
    end
  end
end
