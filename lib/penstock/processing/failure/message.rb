# frozen_string_literal: true

require_relative "provenance"

module Penstock
  module Processing
    module Failure
      # The message that is sent for a failed record: its bytes, key, headers and time stamp as they are, and where it comes
      # from. Records of one source partition go to one partition, in their order, whatever the number of partitions there.
      module Message
        class << self
          # @param record [Penstock::Message]
          # @param topic [String] where it goes
          # @param facts as for {Provenance.headers}
          # @return [Hash] as the producer takes it
          def dead_letter(record, topic:, **facts)
            headers = Provenance.headers_of(record).except(*Provenance::NAMES, *Provenance::PASSING)
            message(record, topic, {**headers, **Provenance.headers(record, **facts)})
          end

          # @param delay_ms [Integer] how long it is to wait there
          # @return [Hash] as the producer takes it
          def retry(record, topic:, delay_ms:, **facts)
            provenance = Provenance.headers(record, **facts, reason: "retried")
            kept = Provenance.headers_of(record).except(*Provenance::NAMES)
            message(record, topic, {**kept, **provenance, "penstock_attempt" => provenance["source_attempts"],
              "penstock_due_at" => (facts.fetch(:now_ms) + delay_ms).to_s})
          end

          # A dead letter on its way back.
          # @param original [Penstock::Message, nil] the record it is about, where something was left out of the letter
          # @return [Hash] as the producer takes it
          def replay(record, topic: nil, original: nil)
            source = Provenance.read(record.raw_headers)
            from = ->(part) { source&.omitted&.include?(part) ? original : record }
            headers = Provenance.headers_of(from.call("headers")).except(*Provenance::NAMES, *Provenance::PASSING)
            headers[Provenance::REPLAYS] = (replays(record) + 1).to_s
            {topic: topic || source.topic, key: key(from.call("key")), headers: headers, timestamp: stamp(record)}
              .compact.merge(payload: from.call("payload").raw_payload)
          end

          # @return [Integer] how often it was replayed
          def replays(record)
            text = Array(Provenance.headers_of(record)[Provenance::REPLAYS]).last
            (text && Integer(text, 10, exception: false)) || 0
          end

          private

          def message(record, topic, headers)
            {topic: topic, key: key(record), partition_key: record.partition.to_s, headers: headers, timestamp: stamp(record)}
              .compact.merge(payload: record.raw_payload)
          end

          # An empty key can't be sent on its own; to Kafka it is a key like no key.
          def key(record) = record.raw_key.to_s.empty? ? nil : record.raw_key

          def stamp(record) = record.timestamp_ms.positive? ? record.timestamp_ms : nil
        end
      end
    end
  end
end
