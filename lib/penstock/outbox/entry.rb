# frozen_string_literal: true

require "digest"
require_relative "../clock"
require_relative "../errors"
require_relative "../on_demand"
require_relative "headers"
Penstock.load_constant :Producer

module Penstock
  module Outbox
    # Converts a message to a row's columns, and a row back to a message. Stateless.
    module Entry
      # Names the row from which a record was sent: the same in all duplicates of the record, and unique otherwise.
      ID_HEADER = "penstock-outbox-id"

      # Keys that a message may have; the others concern the caller of a producer, who no longer waits when the row is sent.
      KEYS = (Producer::MessageRules::KEYS - %i[label handle]).freeze

      class << self
        # @param message [Hash] as {Producer} takes it
        # @param rules [Producer::MessageRules]
        # @return [Array<String>] a sentence for each thing that is wrong
        def problems(message, rules)
          return rules.problems(message) unless message.is_a?(Hash)

          left = %i[label handle].select { |name| message.key?(name) }
          left.map { |name| "#{name.inspect} isn't supported: the outbox doesn't report deliveries to the caller" } +
            rules.problems(message.except(*left)) + header_problems(message[:headers])
        end

        # @param message [Hash] without problems
        # @param now_ms [Integer] wall clock
        # @return [Hash{Symbol => Object}] columns of the row
        def columns(message, now_ms)
          {topic: message[:topic].to_s, message_key: message[:key], payload: message[:payload],
           headers: Headers.dump(message[:headers]), partition: assigned(message), partition_key: message[:partition_key],
           timestamp_ms: milliseconds(message[:timestamp]), strand: strand(message), state: "ready", attempts: 0,
           created_ms: now_ms}
        end

        # Rows with the same strand keep their order: one topic, and the key or partition that decides where the record goes.
        #
        # @param message [Hash]
        # @return [Integer, nil] 64 bits, signed; nil if the message has no order to keep
        def strand(message)
          partition = assigned(message)
          by = partition ? "p#{partition}" : (key = message[:partition_key] || message[:key]) && "k#{key.b}"
          by && Digest::SHA256.digest("#{message[:topic]}\0#{by}".b).unpack1("q>")
        end

        # @param row [Hash{String => Object}]
        # @return [Hash] for a producer
        # @raise [MessageInvalidError] the row can't be read
        def message(row)
          {topic: row["topic"], payload: row["payload"], key: row["message_key"], partition: row["partition"],
           partition_key: row["partition_key"], timestamp: timestamp(row),
           headers: {**Headers.load(row["headers"]).to_h, ID_HEADER => id(row)}}.reject do |name, value|
            value.nil? && name != :payload
          end
        rescue JSON::ParserError, TypeError, NoMethodError, KeyError, ArgumentError => error
          raise MessageInvalidError, "the headers of outbox row #{row["id"]} can't be read: #{error.message[0, 200]}"
        end

        # The row's number alone could be used again after a database was restored.
        #
        # @param row [Hash{String => Object}]
        # @return [String]
        def id(row)
          "#{row["id"]}-#{row["created_ms"]}"
        end

        private

        def assigned(message)
          partition = message[:partition]
          partition if partition && partition >= 0
        end

        def milliseconds(timestamp)
          timestamp.is_a?(Time) ? (timestamp.to_r * 1_000).to_i : timestamp
        end

        # A time before 1970, which the producer refuses, may be in a row that an older version has written.
        def timestamp(row)
          given = row["timestamp_ms"]
          (given.nil? || given.negative?) ? row["created_ms"] : given
        end

        def header_problems(headers)
          return [] unless headers.is_a?(Hash)

          headers.keys.grep(String).filter_map do |name|
            next "header #{name.inspect} is reserved for the outbox" if name == ID_HEADER
            "the name of header #{name.inspect[0, 80]} must be valid text" unless Headers.name?(name)
          end
        end
      end
    end
  end
end
