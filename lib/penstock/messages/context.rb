# frozen_string_literal: true

require_relative "../errors"

module Penstock
  class Messages
    # What all records of one batch have in common: the topic's deserializers, when the batch was taken, where its records are
    # marked. It hangs on the batch, so a {Message} needs no instance variable for it.
    #
    # Frozen, and nothing in it belongs to a single record: it is shared by copies of records ({MemoryBatch.copy}), which have
    # another position than in the batch they came in.
    class Context
      # @return [#payload, #key, #headers] the topic's deserializers
      attr_reader :deserializers

      # @return [#call] what makes a payload of a {Message}; a reader costs less than a method that calls it
      attr_reader :payload

      # @return [Integer] ms since the epoch at which the batch was taken
      attr_reader :received_ms

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
        freeze
      end
    end
  end
end
