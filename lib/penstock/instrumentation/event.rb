# frozen_string_literal: true

module Penstock
  module Instrumentation
    # What a listener gets: the name of an event and what belongs to it. Immutable but for the objects it carries.
    class Event
      # @return [String] name of the event (`"consumer.consumed"`)
      attr_reader :id
      # @return [Hash{Symbol => Object}] what the catalogue lists for this event (docs/events.md)
      attr_reader :payload

      def initialize(id, payload)
        @id = id
        @payload = payload
      end

      # @param key [Symbol]
      # @return [Object, nil] the value, nil when this event carries none under that key
      def [](key)
        @payload[key]
      end

      # @return [String] short, without the objects of the payload, which may be large
      def inspect
        "#<#{self.class} #{@id} #{@payload.keys.join(", ")}>"
      end
    end
  end
end
