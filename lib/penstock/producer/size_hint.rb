# frozen_string_literal: true

module Penstock
  class Producer
    # Names the limit that a message was too large for: client and broker report it with the same code. Stateless.
    module SizeHint
      # librdkafka's `message.max.bytes`.
      DEFAULT_LIMIT = 1_000_000
      private_constant :DEFAULT_LIMIT

      # @param message [Hash] as it was produced
      # @param kafka [Hash{Symbol => Object}] the producer's properties
      # @return [String] a sentence without its full stop
      def self.of(message, kafka)
        size = bytes(message)
        limit = Integer(kafka[:"message.max.bytes"] || DEFAULT_LIMIT)
        return "It has #{size} bytes, more than the topic's max.message.bytes: send less, or raise it" if size < limit

        "It has #{size} bytes, and this producer's message.max.bytes is #{limit}: send less, or raise it, and the topic's " \
          "max.message.bytes if that is lower"
      end

      def self.bytes(message)
        headers = message[:headers].to_h.sum { |name, value| [name, *value].sum { |part| part.to_s.bytesize } }
        message.values_at(:payload, :key).sum { |part| part.to_s.bytesize } + headers
      end
      private_class_method :bytes
    end
  end
end
