# frozen_string_literal: true

module Penstock
  # Declares which consumers read which topics: the DSL of `routes.draw`, and the values built from it.
  module Routing
    # A Kafka consumer group with its topics and its connections. A frozen value.
    class ConsumerGroup
      # @return [String] its id on the cluster
      attr_reader :id
      alias_method :name, :id
      # @return [Array<SubscriptionGroup>] all of them, also inactive ones
      attr_reader :all_subscription_groups

      # @return [Segment, nil] its segment, if the group is split by key
      attr_reader :segment

      # @param id [String]
      # @param subscription_groups [Array<SubscriptionGroup>] not yet part of another group
      # @param segment [Segment, nil]
      def initialize(id, subscription_groups, segment: nil)
        @id = id.dup.freeze
        @segment = segment
        @all_subscription_groups = subscription_groups.freeze
        @explicit = topics.reject(&:pattern?).to_h { |topic| [topic.name, topic] }.freeze
        subscription_groups.each { |group| group.join(self) }
        freeze
      end

      # @return [Array<SubscriptionGroup>] those with topics to subscribe to
      def subscription_groups = @all_subscription_groups.select(&:active?)

      # @return [Array<Topic>] also inactive ones and patterns
      def topics = @all_subscription_groups.flat_map(&:topics)

      # @return [Boolean]
      def active? = @all_subscription_groups.any?(&:active?)

      # @return [Integer, nil] number of its segment, from 0, if the group is split by key
      def segment_id = @segment&.id

      # @return [String, nil] id of the group that was split
      def segment_origin = @segment&.origin

      # @return [Boolean] whether its topics' partitions are listed with `assign`, not assigned by the group
      def direct? = topics.any? { |topic| topic.active? && topic.direct? }

      # @param name [String]
      # @return [Topic, nil] the topic with exactly this name
      def explicit(name) = @explicit[name]

      # @return [Hash{Symbol => Object}] secrets masked
      def to_h
        {id: @id, subscription_groups: @all_subscription_groups.map(&:to_h)}
      end

      def inspect
        "#<#{self.class} #{@id}: #{topics.map(&:name).join(", ")}>"
      end
    end
  end
end
