# frozen_string_literal: true

require_relative "../errors"
require_relative "consumer_group"
require_relative "subscription_group"
require_relative "topic"

module Penstock
  module Routing
    # All routes of an application. A frozen value; any thread may read it.
    class Routes
      # Most names that an error lists.
      LISTED = 10
      private_constant :LISTED

      # @return [Array<ConsumerGroup>]
      attr_reader :consumer_groups
      # @return [Array<Problem>] problems of the routes
      attr_reader :problems
      # @return [Topic] route of a topic that no route names: has the values of `defaults`. For administration
      attr_reader :default_topic
      # @return [DelayTiers, nil] the topics in which delayed messages wait
      attr_reader :delay_tiers

      def initialize(consumer_groups, default_topic:, problems: [], delay_tiers: nil)
        @consumer_groups = consumer_groups.freeze
        @default_topic = default_topic
        @problems = problems.freeze
        @delay_tiers = delay_tiers
        freeze
      end

      # @return [Array<SubscriptionGroup>] those with topics to subscribe to, in the order of their positions
      def subscription_groups = @consumer_groups.flat_map(&:subscription_groups)

      # @return [Array<SubscriptionGroup>] also inactive ones
      def all_subscription_groups = @consumer_groups.flat_map(&:all_subscription_groups)

      # @return [Array<Topic>] also inactive ones and patterns
      def topics = @consumer_groups.flat_map(&:topics)

      # @param topic_name [String, Symbol]
      # @param group [String, Symbol, nil] id of a consumer group; nil looks in all, in order
      # @return [Topic, nil] by name, else by a matching pattern
      def find(topic_name, group = nil)
        groups = group ? @consumer_groups.select { |one| [one.id, one.segment_origin].include?(group.to_s) } : @consumer_groups
        exact = groups.filter_map { |candidate| candidate.explicit(topic_name.to_s) }.first
        exact || groups.flat_map(&:all_subscription_groups).filter_map { |entry| entry.topic_for(topic_name.to_s) }.first
      end

      # @return [Boolean] whether there is nothing to subscribe to
      def empty? = @consumer_groups.none?(&:active?)

      # @return [Problem] for a process that has nothing to subscribe to: there are no routes, or they are inactive or left out
      def nothing_to_consume
        return Problem.new("routes", "there is no topic", "Write routes.draw { topic(:orders) { consumer OrdersConsumer } }") if
          topics.empty?

        names = topics.map(&:name).uniq
        listed = names.first(LISTED).join(", ") + (", …" if names.size > LISTED).to_s
        Problem.new("routes", "No topics to subscribe to", "Every routed topic is filtered out or not active: #{listed}. " \
          "Change the options --include-… and --exclude-… of this process, or remove `active false` from a topic")
      end

      # @param selection [Selection] the parts that this process runs
      # @return [Routes] with these parts only; positions and ids don't change
      def select(selection)
        kept = @consumer_groups.filter_map do |group|
          next unless selection.consumer_group?(group)

          parts = group.all_subscription_groups.select { |entry| selection.subscription_group?(entry) }
            .map { |entry| entry.keep { |topic| selection.topic?(topic) } }.reject { |entry| entry.topics.empty? }
          ConsumerGroup.new(group.id, parts, segment: group.segment) unless parts.empty?
        end
        self.class.new(kept, default_topic: @default_topic, problems: @problems + selection.problems(self),
          delay_tiers: @delay_tiers)
      end

      # @param consumer_group_id [String]
      # @return [SubscriptionGroup, nil] one that subscribes to topics, instead of assigning partitions itself
      # @api private
      def subscription_group_of(consumer_group_id)
        subscription_groups.find { |group| group.consumer_group_id == consumer_group_id && !group.direct? }
      end

      # @param active [Boolean] whether to omit topics that aren't consumed
      # @return [Hash{String => Array<String>}] names of topics by group, without patterns
      # @api private
      def topic_names(active:)
        wanted = topics.reject { |topic| topic.pattern? || (active && !topic.active?) }
        wanted.group_by(&:consumer_group_id).transform_values { |topics| topics.map(&:name) }
      end

      # @return [Array<Hash>] secrets masked
      def to_a = @consumer_groups.map(&:to_h)

      def inspect
        "#<#{self.class} #{@consumer_groups.map(&:id).join(", ")}: #{topics.map(&:name).join(", ")}>"
      end
    end
  end
end
