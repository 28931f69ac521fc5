# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module Serialization
    # Wraps a deserializer of the user's: any error it raises becomes a {DeserializationError} that names the record, with the
    # original as its cause. Such an error concerns only that record; without the name, an outage and one bad record would look
    # the same.
    class Guard
      # @return [#call] the user's deserializer
      attr_reader :deserializer

      # @param deserializer [#call]
      # @param part [Symbol] `:payload`, `:key` or `:headers`
      # @return [#call] the deserializer itself when it already raises the right error
      def self.before(deserializer, part)
        return deserializer if deserializer.is_a?(Guard) || SAFE.include?(deserializer.class)

        new(deserializer, part)
      end

      def initialize(deserializer, part)
        @deserializer = deserializer
        @part = part
        freeze
      end

      # @param message [Message]
      # @raise [DeserializationError]
      def call(message)
        @deserializer.call(message)
      rescue DeserializationError, MessageClearedError, CriticalError
        raise
      rescue => error
        raise DeserializationError.new(topic: message.topic, partition: message.partition, offset: message.offset,
          part: @part, reason: error)
      end

      # A test of routes compares it with the class it has written there.
      # @param other [Object]
      # @return [Boolean] whether it is the same deserializer, guarded or not
      def ==(other) = @deserializer == (other.is_a?(Guard) ? other.deserializer : other)

      # @return [String]
      def inspect
        @deserializer.inspect
      end
    end
  end
end
