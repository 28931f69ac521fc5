# frozen_string_literal: true

require_relative "guard"
require_relative "json"
require_relative "raw"

module Penstock
  # Converts bytes to objects.
  module Serialization
    # Deserializers that need no guard: our own, which name the record themselves or can't fail.
    Guard::SAFE = [JSON, Raw, RawKey, RawHeaders].freeze

    # Converts the bytes of a topic's records into objects: one object with `call` each for payload, key and headers. A frozen
    # value; `call` may run on many threads at once.
    class Deserializers
      # @return [#call] takes a {Message}
      attr_reader :payload
      # @return [#call] takes the metadata of a message (which is the message)
      attr_reader :key
      # @return [#call] takes the metadata of a message
      attr_reader :headers
      # @return [JSON, nil] the payload's deserializer, if it is our parser itself
      # @api private
      attr_reader :text_parser

      # Defaults: a JSON payload; key and headers unchanged.
      #
      # @param payload [#call, nil]
      # @param key [#call, nil]
      # @param headers [#call, nil]
      def initialize(payload: nil, key: nil, headers: nil)
        @payload = Guard.before(payload || JSON.new.freeze, :payload)
        @text_parser = @payload if @payload.instance_of?(JSON)
        @key = Guard.before(key || RawKey.new.freeze, :key)
        @headers = Guard.before(headers || RawHeaders.new.freeze, :headers)
        freeze
      end

      # @return [Hash{Symbol => #call}]
      def to_h
        {payload: @payload, key: @key, headers: @headers}
      end

      # Used by topics that configure none.
      DEFAULT = new
    end
  end
end
