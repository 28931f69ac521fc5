# frozen_string_literal: true

module Penstock
  module Runtime
    # Reports the topics of a group once, when its connection is open: a consumer that consumes nothing because its topic
    # doesn't exist must not look like one that has nothing to do. Runs on a thread of its own, because the broker may take any
    # time to answer; ends with the answer.
    class TopicCheck
      # Requests are short, because a pending call delays a stop.
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

      # @return [Boolean] whether the event has a listener; of several connections to the same topics, only the first reports
      def wanted? = @group.connection.to_i.zero? && @reporter.subscribed?("connection.topic")

      # Asks the broker and emits the events.
      def run
        known = topics or return
        @group.active_topics.each { |topic| report(topic, known[topic.name]) unless topic.pattern? }
      rescue HandleClosedError, KafkaError
        nil # the poll loop reports errors of the connection
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

      def report(topic, found)
        return @missing.report(topic.name) if found.nil? || found[:partitions].empty?
        @missing.found(topic.name)
        @reporter.emit("connection.topic", {topic: topic.name, consumer_group_id: @group.consumer_group.id, exists: true,
          partitions: found[:partitions].size, start_offset: topic.initial_offset})
      end
    end
  end
end
