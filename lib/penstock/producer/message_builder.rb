# frozen_string_literal: true

require_relative "../errors"
require_relative "../native/producer"
require_relative "../printable"
require_relative "message_rules"

module Penstock
  class Producer
    # Builds the Hash for the client from a message, or raises with everything that is wrong with the message. Messages that
    # the driver's quick check finds valid are sent without it. It never changes the caller's Hash. Any thread may use it;
    # stateless.
    class MessageBuilder
      DEFAULT_PARTITIONER = "consistent_random"
      # Most bytes of a topic's name in an error.
      TOPIC_BYTES = 80
      private_constant :TOPIC_BYTES

      # @param rules [MessageRules]
      # @param partitioner [#call] returns librdkafka's name for it, or nil
      # @yieldparam topic [String]
      # @yieldreturn [Integer] number of partitions of the topic, -1 if unknown
      def initialize(rules, partitioner: -> {}, &count)
        @rules = rules
        @partitioner = partitioner
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
        timestamp = (timestamp.to_r * 1_000).to_i if timestamp.is_a?(Time)
        timestamp.zero? ? message.delete(:timestamp) : message[:timestamp] = timestamp
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
