# frozen_string_literal: true

require_relative "../errors"
require_relative "../native/producer"
require_relative "message_rules"

module Penstock
  class Producer
    # Makes of a message what the driver takes, or says what is wrong with it. The caller's Hash stays as it is.
    class Preparation
      DEFAULT_PARTITIONER = "consistent_random"

      # @param rules [MessageRules]
      # @param partitioner [String, nil] librdkafka's name of one
      # @yieldparam topic [String]
      # @yieldreturn [Integer] partitions of the topic, -1 when unknown
      def initialize(rules, partitioner: nil, &count)
        @rules = rules
        @partitioner = (partitioner || DEFAULT_PARTITIONER).to_s
        @count = count
      end

      # @param message [Hash]
      # @return [Hash] a new one, of which the driver has no doubts
      # @raise [MessageInvalidError] with everything that is wrong
      def call(message)
        refuse(message, @rules.problems(message))
        plain(message)
      end

      # All are looked at before any is made.
      #
      # @param messages [Array<Hash>]
      # @return [Array<Hash>]
      # @raise [MessageInvalidError] of the first that is wrong, with its place in the list
      def call_all(messages)
        messages.each_with_index { |message, index| refuse(message, @rules.problems(message), index) }
        messages.map { |message| plain(message) }
      end

      # @param message [Hash] whatever payload it has is dropped
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
        raise kind, "#{"message #{index} of the list: " if index}the message" \
          "#{" to #{topic.to_s[0, 80]}" if topic} can't be sent: #{problems.join("; ")}"
      end

      def plain(message)
        result = message.reject { |name, value| name != :payload && name != :label && value.nil? }
        result[:topic] = result[:topic].to_s
        with_timestamp(result)
        with_partition(result)
        result
      end

      # librdkafka takes 0 for "now", so 1970 itself can't be told.
      def with_timestamp(message)
        timestamp = message[:timestamp] or return
        timestamp = (timestamp.to_r * 1_000).to_i if timestamp.is_a?(Time)
        timestamp.zero? ? message.delete(:timestamp) : message[:timestamp] = timestamp
      end

      # Where the number of partitions isn't known the key decides, or chance.
      def with_partition(message)
        key = message.delete(:partition_key) or return
        return if message.fetch(:partition, -1) >= 0

        count = @count.call(message[:topic])
        message[:partition] = Native::Producer.partition_for(@partitioner, key, count) if count.positive?
      end
    end
  end
end
