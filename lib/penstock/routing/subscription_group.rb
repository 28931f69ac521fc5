# frozen_string_literal: true

module Penstock
  module Routing
    # Topics of one consumer group that share a connection: one client, one poll loop. A frozen value.
    class SubscriptionGroup
      # @return [String]
      attr_reader :name
      # @return [Integer] its position among all subscription groups, also inactive ones, so that ids don't change when
      #   some are left out
      attr_reader :position
      # @return [Array<Topic>] also patterns
      attr_reader :topics
      # @return [Config::KafkaHash] librdkafka's properties as the user set them
      attr_reader :kafka
      # @return [ConsumerGroup]
      attr_reader :consumer_group

      # @return [Multiplexing, nil] number of connections, if not one
      attr_reader :multiplexing
      # @return [Integer, nil] number of this connection, if there are several
      attr_reader :connection

      # @param consumer_group_id [String]
      # @param topics [Array<Topic>] not yet part of another group
      def initialize(consumer_group_id:, name:, position:, topics:, kafka:, multiplexing: nil, connection: nil)
        @consumer_group_id = consumer_group_id
        @name = name.dup.freeze
        @position = position
        @kafka = kafka
        @multiplexing = multiplexing
        @connection = connection
        @topics = topics.each { |topic| topic.join(self) }.freeze
      end

      # @return [String] "<consumer group>_<name>_<position>", with the connection's number if there are several
      def id = [@consumer_group_id, @name, @position, @connection].compact.join("_")

      # @return [Hash{Symbol => SubscriptionGroup, String}] its part of the payload of events
      def ids
        {subscription_group: self, subscription_group_id: id, consumer_group_id: @consumer_group_id, group_id: @consumer_group_id}
      end

      # @return [String]
      attr_reader :consumer_group_id

      # @return [Boolean] whether there is anything to subscribe to
      def active? = @topics.any?(&:active?)

      # @return [Array<Topic>]
      def active_topics = @topics.select(&:active?)

      # @return [Array<String>] names, and patterns in the syntax of the group's protocol
      def subscription
        active_topics.map do |topic|
          next topic.name unless topic.pattern?

          consumer_protocol? ? topic.pattern.full_subscription : topic.pattern.subscription
        end
      end

      # The route of an assigned topic. A topic's own route wins over patterns, wherever in the consumer group it is;
      # patterns are tried in the order in which they were drawn.
      #
      # @param kafka_topic_name [String]
      # @return [Topic, nil]
      def topic_for(kafka_topic_name)
        exact = @topics.find { |topic| !topic.pattern? && topic.name == kafka_topic_name }
        exact || @consumer_group&.explicit(kafka_topic_name) || discovered(kafka_topic_name)
      end

      # @param kafka_topic_name [String]
      # @param topics [Array<Topic>] those considered: also inactive ones, unless given
      # @return [Boolean] whether a topic or pattern matches it
      def routes?(kafka_topic_name, topics = @topics)
        topics.any? { |topic| topic.pattern? ? topic.pattern.match?(kafka_topic_name) : topic.name == kafka_topic_name }
      end

      # @param kafka_topic_name [String]
      # @return [Boolean] whether an active topic or pattern matches it
      def subscribes_to?(kafka_topic_name) = routes?(kafka_topic_name, active_topics)

      # @return [Boolean] whether it uses the protocol of KIP-848
      def consumer_protocol?
        @kafka[:"group.protocol"].to_s.casecmp?("consumer")
      end

      # @return [Boolean] whether the routes list its partitions with `assign`, instead of the group
      def direct? = active_topics.any?(&:direct?)

      # @return [Hash{String => Symbol, Array<Integer>}] partitions of each topic that are read without joining the
      #   group
      def assigned = active_topics.to_h { |topic| [topic.name, topic.assigned] }

      # @param number [Integer]
      # @return [SubscriptionGroup] a copy for one of several connections
      def on_connection(number) = copy(@topics, connection: number).join(@consumer_group)

      # @param consumer_group [ConsumerGroup]
      # @return [SubscriptionGroup] frozen
      # @api private
      def join(consumer_group)
        @consumer_group = consumer_group
        freeze
      end

      # @param node [Integer, nil] number of a swarm's node, which may have only some of a topic's partitions
      # @yieldparam topic [Topic]
      # @return [SubscriptionGroup] not yet part of a group, with the topics for which the block is true
      # @api private
      def keep(node = nil, &block) = copy(@topics.select(&block).map { |topic| topic.on_node(node) })

      # @return [Hash{Symbol => Object}] secrets masked
      def to_h
        {id: id, name: @name, position: @position, consumer_group_id: @consumer_group_id, kafka: @kafka.masked,
         multiplexing: @multiplexing&.to_h, topics: @topics.map(&:to_h)}
      end

      def inspect
        "#<#{self.class} #{id}: #{@topics.map(&:name).join(", ")}>"
      end

      private

      def copy(topics, connection: @connection)
        self.class.new(consumer_group_id: @consumer_group_id, name: @name, position: @position, kafka: @kafka,
          multiplexing: @multiplexing, connection: connection, topics: topics.map(&:dup))
      end

      def discovered(name)
        active_topics.find { |topic| topic.pattern? && topic.pattern.match?(name) }&.discover(name)
      end
    end
  end
end
