# frozen_string_literal: true

require_relative "../nearest"
require_relative "../printable"

module Penstock
  class Producer
    # Checks message Hashes. Pure; finds everything that is wrong with a message at once. Called if the driver's quick check,
    # which only recognizes valid messages, isn't certain.
    class MessageRules
      KEYS = %i[topic payload key partition partition_key timestamp headers label handle].freeze
      TOPIC = /\A(?!\.\.?\z)[\w.-]{1,249}\z/
      # Milliseconds since 1970, as Kafka stores them.
      TIMES = (0..(2**63) - 1)
      # Most bytes of a value in an error.
      SHOWN_BYTES = 80
      private_constant :TIMES, :SHOWN_BYTES

      # @param name [Object]
      # @return [Boolean] whether it is a valid topic name
      def self.topic?(name) = (name.is_a?(String) || name.is_a?(Symbol)) && TOPIC.match?(name.to_s.b)

      # @param max_payload_bytes [Integer]
      def initialize(max_payload_bytes:)
        @max_payload_bytes = max_payload_bytes
      end

      # @param message [Object]
      # @return [Array<String>] one sentence per problem
      def problems(message)
        return ["must be a Hash, is #{message.class}"] unless message.is_a?(Hash)

        [*unknown_keys(message), topic(message), payload(message), *text(message, :key), *text(message, :partition_key),
          partition(message), timestamp(message), *headers(message), handle(message)].compact
      end

      # @return [Boolean] whether its payload is larger than allowed
      def too_large?(message)
        payload = message[:payload] if message.is_a?(Hash)
        payload.is_a?(String) && payload.bytesize > @max_payload_bytes
      end

      # @return [Array<String>] additional problems of a tombstone
      def tombstone_problems(message)
        return problems(message) unless message.is_a?(Hash)

        [(":key must be a String that isn't empty: it is the key to delete" unless named?(message[:key])),
          (":partition must be given: a tombstone has to follow its key" unless message[:partition].is_a?(Integer) &&
            message[:partition] >= 0)].compact
      end

      private

      def shown(value) = Printable.inspect(value, SHOWN_BYTES)

      def unknown_keys(message)
        (message.keys - KEYS).map do |key|
          hint = Nearest.hint(key, KEYS)
          "#{shown(key)} is unknown#{". #{hint}" if hint}"
        end
      end

      def topic(message)
        topic = message[:topic]
        return if MessageRules.topic?(topic)

        ":topic must be a name of at most 249 letters, digits, dots, dashes and underscores (but not . or ..), " \
          "is #{shown(topic)}"
      end

      def payload(message)
        payload = message[:payload]
        return ":payload is missing (nil makes a tombstone)" unless message.key?(:payload)
        unless payload.nil? || payload.is_a?(String)
          json = ": call .to_json" if payload.is_a?(Hash) || payload.is_a?(Array)
          return ":payload must be a String or nil, is a #{payload.class}#{json}"
        end
        return unless too_large?(message)

        ":payload has #{payload.bytesize} bytes, more than max_payload_size (#{@max_payload_bytes})"
      end

      def text(message, name)
        value = message[name]
        return if value.nil? || named?(value)

        "#{name.inspect} must be a String that isn't empty, or nil, is #{shown(value)}"
      end

      def named?(value)
        value.is_a?(String) && !value.empty?
      end

      def partition(message)
        return unless message.key?(:partition)

        partition = message[:partition]
        return if partition.is_a?(Integer) && partition.between?(-1, 2**31 - 1)

        ":partition must be an Integer of at least -1, is #{shown(partition)}"
      end

      def timestamp(message)
        timestamp = message[:timestamp]
        milliseconds = timestamp.is_a?(Time) ? (timestamp.to_r * 1_000).to_i : timestamp
        return if timestamp.nil? || (milliseconds.is_a?(Integer) && TIMES.cover?(milliseconds))

        ":timestamp must be a Time from 1970 on or Integer milliseconds since 1970 that fit in 64 bits, is #{shown(timestamp)}"
      end

      def headers(message)
        headers = message[:headers]
        return if headers.nil?
        return ":headers must be a Hash, is a #{headers.class}" unless headers.is_a?(Hash)

        headers.filter_map do |name, value|
          next "the name of header #{shown(name)} must be a String" unless name.is_a?(String)
          # Consumers would read the name only up to it.
          next "the name of header #{shown(name)} must not contain a NUL byte" if name.b.include?("\0")
          next if Array(value).all? { |part| part.nil? || part.is_a?(String) } && !value.is_a?(Hash)

          "header #{shown(name)} must be a String, nil or an Array of them, is #{shown(value)}"
        end
      end

      def handle(message)
        return unless message.key?(:handle)

        ":handle must be true or false" unless [true, false].include?(message[:handle])
      end
    end
  end
end
