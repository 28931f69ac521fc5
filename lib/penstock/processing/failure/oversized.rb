# frozen_string_literal: true

require_relative "../../errors"
require_relative "callback_results"
require_relative "provenance"

module Penstock
  module Processing
    module Failure
      # Shrinks letters that are larger than their topic, or their producer, accepts: waiting doesn't make them fit. If the
      # route enables it, parts are left out, as little as possible: the payload, then the record's own headers, then its key.
      # The letter's headers name the omitted parts, and the record that has them. Pure.
      module Oversized
        # Error codes of a producer, or a broker, for them.
        CODES = %i[msg_size_too_large record_list_too_large].freeze
        OURS = [*Provenance::NAMES, *Provenance::PERMANENT].freeze
        private_constant :OURS

        class << self
          # @param error [Exception] why a message was not sent, or was rejected
          # @return [Boolean] whether the message, or its batch, is too large
          def refused?(error)
            error.is_a?(MessageTooLargeError) || (error.respond_to?(:code) && CODES.include?(error.code))
          end

          # @param letter [Letter]
          # @return [Letter, nil] a smaller letter; nil when there is nothing left to omit
          def smaller(letter)
            dispatch = letter.instead || reduced(letter.dispatch, letter.record) or return
            kind = (letter.kind == :expired) ? :expired : :dead_letter
            Letter.new(**letter.to_h, dispatch: dispatch, kind: kind, instead: nil).freeze
          end

          # @param message [Hash] for the producer
          # @param record [Message] whose letter it is
          # @return [Hash, nil] a smaller message
          def reduced(message, record)
            headers = message[:headers] || {}
            own = headers.slice(*OURS)
            return {**message, payload: "", headers: marked(headers, "payload", record)} unless message[:payload].to_s.empty?
            return {**message, headers: marked(own, "headers", record)} if own.size < headers.size

            {**message.except(:key), headers: marked(headers, "key", record)} if message[:key]
          end

          private

          # The payload is then empty, not null: in a compacted topic null would delete records of the same key.
          def marked(headers, part, record)
            omitted = [headers[Provenance::OMITTED], part].compact.join(",")
            {**headers, Provenance::OMITTED => omitted, Provenance::PAYLOAD_BYTES => record.raw_payload&.bytesize&.to_s}.compact
          end
        end
      end
    end
  end
end
