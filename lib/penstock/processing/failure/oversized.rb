# frozen_string_literal: true

require_relative "../../errors"
require_relative "advice"
require_relative "provenance"

module Penstock
  module Processing
    module Failure
      # Letters that are larger than their topic, or their producer, takes: no waiting makes them fit. Where the route says so,
      # what is too much is left out, as little as must be: the payload, then the record's own headers, then its key. Their
      # headers tell what that was, and where it lies. Pure.
      module Oversized
        # What a producer, or a broker, says to them.
        CODES = %i[msg_size_too_large record_list_too_large].freeze
        OURS = [*Provenance::NAMES, Provenance::REPLAYS].freeze
        private_constant :OURS

        class << self
          # @param error [Exception] why a message was not sent, or not taken
          # @return [Boolean] whether it, or the batch it lay in, is too large
          def refused?(error)
            error.is_a?(MessageTooLargeError) || (error.respond_to?(:code) && CODES.include?(error.code))
          end

          # @param letter [Letter]
          # @return [Letter, nil] what can be sent instead; nil when there is nothing left to be left out
          def smaller(letter)
            dispatch = letter.instead || reduced(letter.dispatch, letter.record) or return
            Letter.new(**letter.to_h, dispatch: dispatch, kind: :dead_letter, instead: nil).freeze
          end

          # @param message [Hash] as the producer takes it
          # @param record [Message] whose letter it is
          # @return [Hash, nil] the same with less
          def reduced(message, record)
            headers = message[:headers] || {}
            own = headers.slice(*OURS)
            return {**message, payload: "", headers: told(headers, "payload", record)} unless message[:payload].to_s.empty?
            return {**message, headers: told(own, "headers", record)} if own.size < headers.size

            {**message.except(:key), headers: told(headers, "key", record)} if message[:key]
          end

          private

          # The payload is empty then, not null: nothing of the same key is deleted by it where topics are compacted.
          def told(headers, part, record)
            omitted = [headers[Provenance::OMITTED], part].compact.join(",")
            {**headers, Provenance::OMITTED => omitted, Provenance::PAYLOAD_BYTES => record.raw_payload&.bytesize&.to_s}.compact
          end
        end
      end
    end
  end
end
