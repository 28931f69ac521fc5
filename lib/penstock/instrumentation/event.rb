# frozen_string_literal: true

module Penstock
  module Instrumentation
    # An event as a listener receives it: name and payload. Immutable except for the objects in the payload.
    class Event
      # @return [String] name of the event (`"consumer.consumed"`)
      attr_reader :id
      # @return [Hash{Symbol => Object}] the payload, with the keys of the catalogue (docs/events.md)
      attr_reader :payload

      def initialize(id, payload)
        @id = id
        @payload = payload
      end

      # @param key [Symbol]
      # @return [Object, nil] the value; nil if this event has no such key
      def [](key)
        @payload[key]
      end

      # @return [String] short, without the payload's objects, which may be large
      def inspect
        "#<#{self.class} #{@id} #{@payload.keys.join(", ")}>"
      end
    end
  end
end
