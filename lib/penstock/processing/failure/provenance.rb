# frozen_string_literal: true

module Penstock
  module Processing
    module Failure
      # Builds and reads the headers that describe a dead letter's source and reason. Names and format are fixed from the first
      # version on, because letters stay in clusters for years (test/formats/dead-letter-v1.json): `source_*` are Karafka's,
      # `penstock_*` are Penstock's. Every value is text and bounded, so that together they stay below 2 KiB.
      module Provenance
        VERSION = "1"
        # Limits in bytes of texts from user code.
        LIMITS = {"penstock_error_class" => 200, "penstock_error_message" => 500, "penstock_error_place" => 200}.freeze
        # Headers that a message must not keep when it is sent again.
        PASSING = %w[penstock_attempt penstock_due_at].freeze
        # Names of all headers except those of {PERMANENT}.
        NAMES = %w[
          source_topic source_partition source_offset source_consumer_group source_attempts source_trace_id
          penstock_format penstock_reason penstock_error_class penstock_error_message penstock_error_place
          penstock_failed_at penstock_source_timestamp penstock_omitted penstock_payload_bytes
        ].freeze
        # Where a record was read, and when it was written.
        ORIGIN = %w[source_topic source_partition source_offset source_consumer_group penstock_source_timestamp].freeze
        REPLAYS = "penstock_replays"
        # The timestamp that a message had before it was first replayed, ms since 1970.
        ORIGINAL_TIMESTAMP = "penstock_original_timestamp"
        # Headers that stay with a replayed message.
        PERMANENT = [REPLAYS, ORIGINAL_TIMESTAMP].freeze
        # The reason of records that were sent to the topic of `expire_in`.
        EXPIRED = "expired"
        # For a letter that was too large: the parts left out of it, and the size of the record's payload.
        OMITTED = "penstock_omitted"
        PAYLOAD_BYTES = "penstock_payload_bytes"

        # A retry topic's name after that of its source.
        RETRY = /\A[._-]retry[._-]\d+\z/
        private_constant :ORIGIN, :RETRY

        # The source that a message's headers name.
        Source = Struct.new(:topic, :partition, :offset, :group, :attempts, :trace_id, :reason, :error_class, :error_message,
          :error_place, :failed_at, :timestamp, :omitted, :payload_bytes, keyword_init: true)

        class << self
          # @param record [Message]
          # @param group [String] the consumer group
          # @param error [Exception]
          # @param attempt [Integer] failures in this topic, this one included
          # @param trace_id [String]
          # @param now_ms [Integer] ms since 1970
          # @param reason [String] "failed", "quarantined", "expired" or "dispatched"
          # @return [Hash{String => String}]
          def headers(record, group:, error:, attempt:, trace_id:, now_ms:, reason: "failed")
            why = {"penstock_format" => VERSION, "penstock_reason" => reason, **of_error(error),
                   "penstock_failed_at" => now_ms.to_s}
            {**origin(record, group), **attempts(record, attempt, trace_id), **why}
          end

          # @param headers [Hash{String => String, Array, nil}, nil]
          # @return [Source, nil] nil for a message that isn't a dead letter
          def read(headers)
            return unless headers
            text = ->(name) { Array(headers[name]).last }
            number = ->(name) { text.call(name)&.then { |value| Integer(value, 10, exception: false) } }
            return unless text.call("source_topic")

            Source.new(topic: text.call("source_topic"), partition: number.call("source_partition"),
              offset: number.call("source_offset"), group: text.call("source_consumer_group"),
              attempts: number.call("source_attempts"), trace_id: text.call("source_trace_id"),
              reason: text.call("penstock_reason"), error_class: text.call("penstock_error_class"),
              error_message: text.call("penstock_error_message"), error_place: text.call("penstock_error_place"),
              failed_at: number.call("penstock_failed_at"), timestamp: number.call("penstock_source_timestamp"),
              omitted: text.call(OMITTED)&.b&.split(","), payload_bytes: number.call(PAYLOAD_BYTES))
          end

          # @param record [Message]
          # @return [Integer] failures in topics it went through before this one
          def earlier_attempts(record) = (retried?(record) && number(record, "penstock_attempt")) || 0

          # @param record [Message]
          # @return [Hash] a record without headers has none
          def headers_of(record) = record.raw_headers || {}

          # @param record [Message]
          # @return [Integer, nil] ms since 1970 at which a record of a retry topic is due
          def due_at(record) = number(record, "penstock_due_at")

          # @param record [Message]
          # @param name [String] of a header
          # @return [Integer, nil]
          def number(record, name) = Array(headers_of(record)[name]).last&.then { |text| Integer(text, 10, exception: false) }

          # @return [String] at most `limit` bytes of UTF-8
          def bounded(text, limit)
            text = text.to_s.dup.force_encoding(Encoding::UTF_8).scrub("?")
            (text.bytesize <= limit) ? text : "#{text.byteslice(0, limit - 3).scrub("")}…"
          end

          private

          # A record of a retry topic keeps its first source; so does a record without its payload, which only the source still
          # has.
          def origin(record, group)
            kept = headers_of(record).slice(*ORIGIN).transform_values { |value| Array(value).last }
            return kept if kept.size == ORIGIN.size && retried?(record)
            return {**kept, **without_payload(record)} if kept.size == ORIGIN.size && without_payload?(record)

            {"source_topic" => record.topic, "source_partition" => record.partition.to_s, "source_offset" => record.offset.to_s,
             "source_consumer_group" => group, "penstock_source_timestamp" => record.timestamp_ms.to_s}
          end

          def without_payload(record)
            headers_of(record).slice(OMITTED, PAYLOAD_BYTES).transform_values { |value| Array(value).last }
          end

          def without_payload?(record) = headers_of(record).key?(OMITTED) && record.raw_payload.to_s.empty?

          def attempts(record, attempt, trace_id)
            {"source_attempts" => (earlier_attempts(record) + attempt).to_s, "source_trace_id" => trace_id}
          end

          # Applications may copy headers to other messages: outside a retry topic of their source they mean nothing.
          def retried?(record)
            headers = headers_of(record)
            source = Array(headers["source_topic"]).last
            return false unless source && headers.key?("penstock_attempt") && record.topic.start_with?(source)

            RETRY.match?(record.topic.delete_prefix(source))
          end

          def of_error(error)
            texts = {"penstock_error_class" => error.class.name, "penstock_error_message" => message_of(error),
                     "penstock_error_place" => error.backtrace&.first}
            texts.compact.to_h { |name, text| [name, bounded(text, LIMITS.fetch(name))] }
          end

          # User code: an error whose `message` raises mustn't prevent its record from being dead-lettered.
          def message_of(error)
            error.message
          rescue StandardError, SystemStackError => another
            "(its message raised #{another.class})"
          end
        end
      end
    end
  end
end
