# frozen_string_literal: true

require_relative "../errors"

module Penstock
  class Messages
    # Holds what all records of one batch have in common: the topic's deserializers, the time the batch was taken, and where its
    # records are marked. It belongs to the batch, so a {Message} needs no instance variable for it.
    #
    # Frozen, and contains nothing about a single record: it is shared by copies of records ({MemoryBatch.copy}), whose position
    # differs from the one in their original batch.
    class Context
      # @return [#payload, #key, #headers, #text_parser] the topic's deserializers
      attr_reader :deserializers

      # @return [#call] deserializer of a {Message}'s payload; a reader costs less than a method that calls it
      attr_reader :payload

      # @return [#parse, nil] the parser of payloads, if the deserializer is nothing but that: a {Message} calls it itself
      attr_reader :text_parser

      # @return [Integer] ms since the epoch when the batch was taken
      attr_reader :received_ms

      # @return [Consumer::Marks, nil] where marks of these records are written: the lane incarnation in which they were taken
      attr_reader :marks

      # @param deserializers [#payload, #key, #headers, #text_parser]
      # @param received_ms [Integer] ms since the epoch; a Time here would be one object per batch that the collector can't age
      # @param marks [Consumer::Marks, nil]
      def initialize(deserializers, received_ms = 0, marks = nil)
        @deserializers = deserializers
        @payload = deserializers.payload
        @text_parser = deserializers.text_parser
        @received_ms = received_ms
        @marks = marks
        freeze
      end
    end
  end
end
