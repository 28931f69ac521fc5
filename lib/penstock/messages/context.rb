# frozen_string_literal: true

require_relative "../errors"

module Penstock
  class Messages
    # What all records of one batch share: the topic's deserializers, when the batch was taken, and the few values that were
    # asked for a second time. It hangs on the batch, so a {Message} needs no instance variable for it.
    #
    # Read and written by whichever thread works on the batch; two threads that race for a key both compute the same value.
    class Context
      # @return [#payload, #key, #headers] the topic's deserializers
      attr_reader :deserializers

      # @return [#call] what makes a payload of a {Message}; a reader costs less than a method that calls it
      attr_reader :payload

      # @return [Time]
      def received_at = Time.at(0, @received_ms, :millisecond)

      # @return [Consumer::Marks, nil] where marks of these records go: the lane's life they were taken in
      attr_reader :marks

      # @param deserializers [#payload, #key, #headers]
      # @param received_ms [Integer] ms since the epoch; a Time here would be one object a batch that the collector can't age
      # @param marks [Consumer::Marks, nil]
      def initialize(deserializers, received_ms = 0, marks = nil)
        @deserializers = deserializers
        @payload = deserializers.payload
        @received_ms = received_ms
        @marks = marks
        @keys = nil
        @headers = nil
      end

      # @return [Object] see {Message#key}; nil and false are remembered too
      def key_of(message, index)
        keys = (@keys ||= {})
        keys.fetch(index) { keys[index] = @deserializers.key.call(message) }
      end

      # @return [Object] see {Message#headers}
      def headers_of(message, index)
        headers = (@headers ||= {})
        headers.fetch(index) { headers[index] = @deserializers.headers.call(message) }
      end

      # @param index [Integer]
      def forget(index)
        @keys&.delete(index)
        @headers&.delete(index)
      end
    end
  end
end
