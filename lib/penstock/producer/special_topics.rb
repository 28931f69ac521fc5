# frozen_string_literal: true

require_relative "../errors"

module Penstock
  class Producer
    # A client for messages whose topics have properties of their own: each topic is opened under a key of its own with them.
    # Used by any thread; what it knows is in the client.
    class SpecialTopics
      SLICE = 1_024

      # @param client [Native::Producer, DryClient]
      # @param properties [Hash{String => String}]
      # @param number [Integer] which of the client's sets of properties it is
      def initialize(client, properties, number)
        @client = client
        @properties = properties
        @suffix = "\n#{number}" # no topic's name has a line's end
      end

      def dispatch(message)
        @client.dispatch(renamed(message))
      end

      # Ruby looks at each message: what the client calls plain it knows by other names.
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
          "#{@properties}, and a client has one configuration a topic", "Give these messages a producer of their own")]
      end

      def offer(topic, *parts)
        @client.offer(key(topic), *parts)
      end

      def dispatch_slice(messages, from, handles, accepted)
        @client.dispatch_slice(messages[from, SLICE].map { |message| renamed(message) }, 0, handles, accepted)
      end

      %i[ticket wait_for_room sync_wait last_error fatal_error].each do |name|
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
