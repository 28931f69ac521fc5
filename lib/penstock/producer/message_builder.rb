# frozen_string_literal: true

require_relative "../errors"
require_relative "../native/producer"
require_relative "../printable"
require_relative "message_rules"

module Penstock
  class Producer
    # Builds the Hash for the client from a message, or raises with everything that is wrong with the message. Messages that
    # the driver's quick check finds valid are sent without it. It never changes the caller's Hash. Any thread may use it. Its
    # only state is whether it has warned of a timestamp.
    class MessageBuilder
      DEFAULT_PARTITIONER = "consistent_random"
      # Most bytes of a topic's name in an error.
      TOPIC_BYTES = 80
      # As milliseconds they are in the first months of 1970, as seconds between 2001 and 2286.
      SECONDS = (1_000_000_000...10_000_000_000)
      private_constant :SECONDS, :TOPIC_BYTES

      # @param rules [MessageRules]
      # @param partitioner [#call] returns librdkafka's name for it, or nil
      # @param logger [#warn, nil] gets one warning if a timestamp looks like seconds
      # @yieldparam topic [String]
      # @yieldreturn [Integer] number of partitions of the topic, -1 if unknown
      def initialize(rules, partitioner: -> {}, logger: nil, &count)
        @rules = rules
        @partitioner = partitioner
        @logger = logger
        @count = count
      end

      # @param message [Hash]
      # @return [Hash] a new one, which the client accepts without checks
      # @raise [MessageInvalidError] with everything that is wrong
      def call(message)
        refuse(message, @rules.problems(message))
        plain(message)
      end

      # Checks all messages before it builds any.
      #
      # @param messages [Array<Hash>]
      # @return [Array<Hash>]
      # @raise [MessageInvalidError] of the first invalid message, with its place in the list
      def call_all(messages)
        messages.each_with_index { |message, index| refuse(message, @rules.problems(message), index) }
        messages.map { |message| plain(message) }
      end

      # @param message [Hash] its payload is dropped
      # @return [Hash]
      # @raise [MessageInvalidError]
      def tombstone(message)
        refuse(message, @rules.tombstone_problems(message))
        message.merge(payload: nil)
      end

      private

      def refuse(message, problems, index = nil)
        return if problems.empty?

        topic = message[:topic] if message.is_a?(Hash)
        kind = @rules.too_large?(message) ? MessageTooLargeError : MessageInvalidError
        text = "the message#{" to #{Printable.line(topic, TOPIC_BYTES)}" if topic} can't be sent: #{problems.join("; ")}"
        raise kind.new(index ? "message #{index} of the list: #{text}" : text).tap { |error| error.index = index }
      end

      def plain(message)
        result = message.reject { |name, value| name != :payload && name != :label && value.nil? }
        result[:topic] = result[:topic].to_s
        with_timestamp(result)
        with_partition(result)
        result
      end

      # librdkafka interprets 0 as "now", so a message can't have the timestamp 0.
      def with_timestamp(message)
        timestamp = message[:timestamp] or return
        warn_of_seconds(timestamp, message[:topic]) if timestamp.is_a?(Integer) && SECONDS.cover?(timestamp)
        timestamp = (timestamp.to_r * 1_000).to_i if timestamp.is_a?(Time)
        timestamp.zero? ? message.delete(:timestamp) : message[:timestamp] = timestamp
      end

      # The driver's quick check accepts such a timestamp, but sees no message before its topic is known: a caller that writes
      # seconds does so from the first message on.
      def warn_of_seconds(timestamp, topic)
        return if @warned

        @warned = true
        @logger&.warn("a message to #{Printable.line(topic, TOPIC_BYTES)} has the timestamp #{timestamp}, which is in 1970: " \
          "timestamps are in milliseconds. Write a Time (timestamp: Time.now) if you mean seconds. Reported once per producer")
      end

      # If the number of partitions isn't known, librdkafka chooses by the key, or at random.
      def with_partition(message)
        key = message.delete(:partition_key) or return
        return if message.fetch(:partition, -1) >= 0

        count = @count.call(message[:topic])
        message[:partition] = Native::Producer.partition_for((@partitioner.call || DEFAULT_PARTITIONER).to_s, key, count) if
          count.positive?
      end
    end
  end
end
