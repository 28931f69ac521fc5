# frozen_string_literal: true

require_relative "../errors"

module Penstock
  class Producer
    # A client for messages whose topics have properties of their own: opens each topic with them, under a separate key. Used
    # by any thread; all state is in the client.
    class SpecialTopics
      SLICE = 1_024

      # @param client [Native::Producer, DryClient]
      # @param properties [Hash{String => String}]
      # @param number [Integer] of this set of properties in the client
      def initialize(client, properties, number)
        @client = client
        @properties = properties
        @suffix = "\n#{number}" # topic names have no line breaks
      end

      def dispatch(message)
        @client.dispatch(renamed(message))
      end

      # All messages are checked in Ruby: the client's fast path would use the topic's plain name.
      def plain_message?(_message)
        false
      end

      def plain?(_messages)
        false
      end

      # @raise [VariantInvalidError]
      def open_topic(name)
        @client.open_topic_with(key(name), name.to_s, @properties)
      rescue KafkaError => error
        raise unless error.code == :conflict

        raise VariantInvalidError, [Problem.new("topic_config", "the topic #{name} is in use with other properties than " \
          "#{@properties}, and a client has one configuration per topic", "Use a separate producer for these messages")]
      end

      def offer(topic, *parts)
        @client.offer(key(topic), *parts)
      end

      def dispatch_slice(messages, from, handles, accepted)
        @client.dispatch_slice(messages[from, SLICE].map { |message| renamed(message) }, 0, handles, accepted)
      end

      %i[ticket wait_for_room sync_wait last_error fatal_error begin_transaction].each do |name|
        define_method(name) { |*arguments| @client.public_send(name, *arguments) }
      end

      private

      def renamed(message)
        message.merge(topic: key(message[:topic]))
      end

      def key(topic)
        "#{topic}#{@suffix}"
      end
    end
  end
end
