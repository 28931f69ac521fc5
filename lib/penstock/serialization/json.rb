# frozen_string_literal: true

require "json"
require_relative "../errors"
require_relative "../messages/message"

module Penstock
  module Serialization
    # Parses the payload as JSON, the default. A payload that is nil stays nil. Stateless: one instance serves all threads.
    #
    # It is one method from the message to the parser on purpose: on small records each further call costs a share that
    # can be measured. `JSON.parse` itself does no more than what stands here; of a string that isn't flagged as UTF-8 the
    # parser would first make a copy. Anything else with a `raw_payload` will do, such as one that decrypts.
    class JSON
      # json 2.10 and later parse without making a parser object.
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
