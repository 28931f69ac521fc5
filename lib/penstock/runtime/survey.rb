# frozen_string_literal: true

module Penstock
  module Runtime
    # Looks at the topics of a group once, when its connection is open, and says what it found: a consumer that consumes nothing
    # because its topic doesn't exist must not look like one that has nothing to do. Runs on a thread of its own, because asking
    # may take as long as the broker likes; ends with the answer.
    class Survey
      # Asked in short turns, because a call under way holds up a stop.
      TURN_MS = 1_000
      TURNS = 10
      private_constant :TURN_MS, :TURNS

      # @param group [Routing::SubscriptionGroup]
      # @param driver [Native::Consumer]
      # @param reporter [Reporter]
      # @param missing [MissingTopics]
      def initialize(group, driver, reporter, missing)
        @group = group
        @driver = driver
        @reporter = reporter
        @missing = missing
      end

      # @return [Boolean] whether anybody wants to know; of several connections to the same topics the first tells
      def wanted? = @group.connection.to_i.zero? && @reporter.subscribed?("connection.topic")

      # Asks and tells.
      def run
        known = topics or return
        @group.active_topics.each { |topic| tell(topic, known[topic.name]) unless topic.pattern? }
      rescue HandleClosedError, KafkaError
        nil # the connection says itself what is wrong with it
      end

      private

      def topics
        TURNS.times do
          return @driver.metadata(nil, TURN_MS).fetch(:topics)
        rescue KafkaError => error
          raise unless %i[timed_out transport].include?(error.code)
        end
        nil
      end

      def tell(topic, found)
        return @missing.tell(topic.name) if found.nil? || found[:partitions].empty?
        @missing.found(topic.name)
        @reporter.emit("connection.topic", {topic: topic.name, consumer_group_id: @group.consumer_group.id, exists: true,
          partitions: found[:partitions].size, start_offset: topic.initial_offset})
      end
    end
  end
end
