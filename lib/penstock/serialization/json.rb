# frozen_string_literal: true

require "json"
require_relative "../errors"
require_relative "../on_demand"
Penstock.load_constant :Message

module Penstock
  module Serialization
    # Parses the payload as JSON, the default. A payload that is nil stays nil. Stateless: one instance serves all threads.
    #
    # On small records each call has a measurable cost, so there is as little as possible between the message and the parser:
    # {Message#payload} calls {#parse} itself. `JSON.parse` does no more than this class; the parser would first copy a string
    # that isn't flagged as UTF-8.
    class JSON
      # The gem requires json 2.10, which can parse without creating a parser object. An older one is loaded only where the
      # gem's dependencies aren't resolved, as by `ruby -Ilib` in a checkout.
      DIRECT = ::JSON::Parser.respond_to?(:parse)
      private_constant :DIRECT

      # Accepts anything with a `raw_payload`, such as a message that decrypts.
      # @param message [Message]
      # @return [Object, nil]
      # @raise [DeserializationError] when the payload isn't JSON
      def call(message)
        parse((Message === message) ? message.raw_text : message.raw_payload, message)
      end

      if DIRECT
        # @param text [String, nil]
        # @param message [Message] the record that an error names
        # @return [Object, nil]
        # @raise [DeserializationError] when the text isn't JSON
        # @api private
        def parse(text, message)
          text && ::JSON::Parser.parse(text, nil)
        rescue ::JSON::JSONError, EncodingError => error
          failed(message, error)
        end
      else
        def parse(text, message)
          text && ::JSON::Parser.new(text).parse
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
