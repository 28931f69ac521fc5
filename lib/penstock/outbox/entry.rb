# frozen_string_literal: true

require "digest"
require_relative "../clock"
require_relative "../errors"
require_relative "../producer"
require_relative "headers"

module Penstock
  module Outbox
    # A message on its way into the table and out of it: what makes it a row's columns, and a row a message again. Without state.
    module Entry
      # Says which row a record comes from: the same in every double of it, and in no other record.
      ID_HEADER = "penstock-outbox-id"

      # What a message may have; the rest are matters of a producer's caller, who is gone when the row is sent.
      KEYS = (Producer::MessageRules::KEYS - %i[label handle]).freeze

      class << self
        # @param message [Hash] as {Producer} takes it
        # @param rules [Producer::MessageRules]
        # @return [Array<String>] a sentence for each thing that is wrong
        def problems(message, rules)
          return rules.problems(message) unless message.is_a?(Hash)

          left = %i[label handle].select { |name| message.key?(name) }
          left.map { |name| "#{name.inspect} is for who waits for a delivery, and nobody does here" } +
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

        # What keeps its order: one topic, and whatever decides the partition.
        #
        # @param message [Hash]
        # @return [Integer, nil] 64 bits, signed; nil where nothing has to be kept in order
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
           partition_key: row["partition_key"], timestamp: row["timestamp_ms"] || row["created_ms"],
           headers: {**Headers.load(row["headers"]).to_h, ID_HEADER => id(row)}}.reject do |name, value|
            value.nil? && name != :payload
          end
        rescue JSON::ParserError, TypeError, NoMethodError, KeyError, ArgumentError => error
          raise MessageInvalidError, "the headers of outbox row #{row["id"]} can't be read: #{error.message[0, 200]}"
        end

        # The number alone would come again after a database was put back.
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

        def header_problems(headers)
          return [] unless headers.is_a?(Hash)

          headers.keys.grep(String).filter_map do |name|
            next "header #{name.inspect} is the outbox's own" if name == ID_HEADER
            "the name of header #{name.inspect[0, 80]} must be valid text" unless Headers.name?(name)
          end
        end
      end
    end
  end
end
