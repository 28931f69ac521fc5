# frozen_string_literal: true

require "json"
require_relative "../errors"
require_relative "../messages/message"

module Penstock
  module Serialization
    # Parses the payload as JSON, the default. A payload that is nil stays nil. Stateless: one instance serves all threads.
    #
    # It is deliberately one method from the message to the parser: on small records each further call has a measurable cost.
    # `JSON.parse` itself does no more than this method; the parser would first copy a string that isn't flagged as UTF-8.
    # Anything else with a `raw_payload` works too, such as a message that decrypts.
    class JSON
      # json 2.10 and later can parse without creating a parser object.
      DIRECT = ::JSON::Parser.respond_to?(:parse)
      private_constant :DIRECT

      if DIRECT
        # @param message [Message]
        # @return [Object, nil]
        # @raise [DeserializationError] when the payload isn't JSON
        def call(message)
          raw = (Message === message) ? message.raw_text : message.raw_payload
          raw && ::JSON::Parser.parse(raw, nil)
        rescue ::JSON::JSONError, EncodingError => error
          failed(message, error)
        end
      else
        def call(message)
          raw = (Message === message) ? message.raw_text : message.raw_payload
          raw && ::JSON::Parser.new(raw).parse
        rescue ::JSON::JSONError, EncodingError => error
          failed(message, error)
        end
      end

      private

      def failed(message, error)
        raise DeserializationError.new(topic: message.topic, partition: message.partition, offset: message.offset,
          part: :payload, reason: error)
      end
    end
  end
end
