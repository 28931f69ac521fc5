# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module Outbox
    # What an error says about the row it belongs to. Without state.
    module Refusal
      # The cluster won't take this record, however often it is sent.
      RECORD = %i[msg_size_too_large invalid_msg_size record_list_too_large invalid_record invalid_msg invalid_timestamp
        policy_violation unsupported_for_message_format invalid_arg bad_msg unknown_partition].freeze
      # … nor any other for this topic, until somebody changes something there.
      TOPIC = %i[unknown_topic unknown_topic_or_part topic_authorization_failed topic_exception].freeze
      # It is the relay or its producer that can't go on.
      OWN = [ProducerClosedError, ForkedHandleError, ConfigurationError].freeze

      class << self
        # @param error [Exception]
        # @return [:record, :topic, :stuck, :own] what is refused; :stuck where it is only late
        def of(error)
          return :own if OWN.any? { |kind| error.is_a?(kind) }

          code = code_of(error)
          return :topic if TOPIC.include?(code)
          return :record if code.nil? || RECORD.include?(code)

          :stuck
        end

        private

        # nil for what isn't Kafka's: middleware that raised, a row that can't be read.
        def code_of(error)
          [error, error.cause].grep(KafkaError).first&.code || (:unknown if error.is_a?(ProduceError))
        end
      end
    end
  end
end
