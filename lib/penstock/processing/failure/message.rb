# frozen_string_literal: true

require_relative "provenance"

module Penstock
  module Processing
    module Failure
      # Builds the message that is sent for a failed record: bytes, key, headers and timestamp unchanged, plus headers that name
      # its source. Records of one source partition go to one partition, in their order, regardless of how many partitions the
      # target topic has.
      module Message
        # The end of the year 9999.
        LATEST_MS = 253_402_300_799_999
        private_constant :LATEST_MS

        class << self
          # @param record [Penstock::Message]
          # @param topic [String] target topic
          # @param facts as for {Provenance.headers}
          # @return [Hash] a message for the producer
          def dead_letter(record, topic:, **facts)
            headers = Provenance.headers_of(record).except(*Provenance::NAMES, *Provenance::PASSING)
            message(record, topic, {**headers, **Provenance.headers(record, **facts)})
          end

          # Refuses a letter that user code has addressed to the record's own topic: it would be consumed there, fail and be
          # sent again, without an end.
          # @param letter [Hash] as `enhance_dlq_message` has left it
          # @param record [Penstock::Message]
          # @return [void]
          # @raise [MessageInvalidError]
          def check_target(letter, record)
            return unless letter[:topic].to_s == record.topic
            raise MessageInvalidError, "enhance_dlq_message has set the topic of a letter to #{record.topic}, from which its " \
              "record was read: it would be consumed and dead-lettered again and again. Set another topic, or none"
          end

          # @param delay_ms [Integer] how long it waits there
          # @return [Hash] a message for the producer
          def retry(record, topic:, delay_ms:, **facts)
            provenance = Provenance.headers(record, **facts, reason: "retried")
            kept = Provenance.headers_of(record).except(*Provenance::NAMES)
            message(record, topic, {**kept, **provenance, "penstock_attempt" => provenance["source_attempts"],
              "penstock_due_at" => (facts.fetch(:now_ms) + delay_ms).to_s})
          end

          # Sends a dead letter back to its source topic. It gets the time of the replay as its timestamp: with its old one
          # `expire_in` would drop it, and the topic's retention might delete it at once. Its old one is kept in a header.
          # @param original [Penstock::Message, nil] the failed record, needed if something was left out of the letter
          # @param keep_timestamp [Boolean] whether it is sent with its old timestamp
          # @return [Hash] a message for the producer
          def replay(record, topic: nil, original: nil, keep_timestamp: false)
            source = Provenance.read(record.raw_headers)
            from = ->(part) { source&.omitted&.include?(part) ? original : record }
            headers = Provenance.headers_of(from.call("headers")).except(*Provenance::NAMES, *Provenance::PASSING)
            headers[Provenance::REPLAYS] = (replays(record) + 1).to_s
            time = original_timestamp(record, source)
            headers[Provenance::ORIGINAL_TIMESTAMP] = time.to_s if time && !keep_timestamp
            {topic: topic || source.topic, key: key(from.call("key")), headers: headers, timestamp: (time if keep_timestamp)}
              .compact.merge(payload: from.call("payload").raw_payload)
          end

          # @return [Integer] how often it was replayed
          def replays(record) = Provenance.number(record, Provenance::REPLAYS) || 0

          private

          def message(record, topic, headers)
            {topic: topic, key: key(record), partition_key: record.partition.to_s, headers: headers, timestamp: stamp(record)}
              .compact.merge(payload: record.raw_payload)
          end

          # @return [Integer, nil] of the message before any replay
          def original_timestamp(record, source)
            [Provenance.number(record, Provenance::ORIGINAL_TIMESTAMP), source&.timestamp, record.timestamp_ms]
              .find { |time| time&.between?(1, LATEST_MS) }
          end

          # A message with an empty key can't be sent by key; to Kafka it is a key like no key.
          def key(record) = record.raw_key.to_s.empty? ? nil : record.raw_key

          def stamp(record) = record.timestamp_ms.positive? ? record.timestamp_ms : nil
        end
      end
    end
  end
end
