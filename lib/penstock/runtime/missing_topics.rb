# frozen_string_literal: true

module Penstock
  module Runtime
    # Reports the topics of a group that don't exist. Both {TopicCheck} at the start and librdkafka at any time may find that a
    # topic is missing: it is reported once, and again only if it has existed in between. Patterns that match nothing aren't
    # reported. Any thread.
    class MissingTopics
      # @param group [Routing::SubscriptionGroup]
      # @param reporter [Reporter]
      # @param clock [Clock]
      def initialize(group, reporter, clock)
        @group = group
        @reporter = reporter
        @clock = clock
        @names = []
        @lock = Mutex.new
      end

      # @return [Integer, nil] monotonic ms of the last report
      attr_reader :reported_at

      # @return [Array<String>]
      def names = @lock.synchronize { @names.dup }

      # @param name [String] topic, or a pattern as it is subscribed to
      def report(name)
        return if name.start_with?("^")
        new = @lock.synchronize { !@names.include?(name) && @names.push(name) }
        return unless new
        @reported_at = @clock.monotonic_ms
        @reporter.emit("connection.topic", about(name))
      end

      # The topic exists.
      # @param name [String]
      def found(name) = @lock.synchronize { @names.delete(name) }

      private

      def about(name)
        {topic: name, consumer_group_id: @group.consumer_group.id, exists: false, partitions: 0,
         start_offset: @group.topic_for(name)&.initial_offset}
      end
    end
  end
end
