# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module Outbox
    # Classifies the error with which sending a row failed. Stateless.
    module Refusal
      # The cluster will never accept this record.
      RECORD = %i[msg_size_too_large invalid_msg_size record_list_too_large invalid_record invalid_msg invalid_timestamp
        policy_violation unsupported_for_message_format invalid_arg bad_msg unknown_partition].freeze
      # … nor any other record for this topic, until the topic or its permissions are changed.
      TOPIC = %i[unknown_topic unknown_topic_or_part topic_authorization_failed topic_exception].freeze
      # The relay or its producer can't continue.
      OWN = [ProducerClosedError, ForkedHandleError, ConfigurationError].freeze

      class << self
        # @param error [Exception]
        # @return [:record, :topic, :stuck, :own] what the error concerns; :stuck if the row is only delayed
        def of(error)
          return :own if OWN.any? { |kind| error.is_a?(kind) }

          code = code_of(error)
          return :topic if TOPIC.include?(code)
          return :record if code.nil? || RECORD.include?(code)

          :stuck
        end

        private

        # nil for errors that aren't Kafka's: middleware that raised, a row that can't be read.
        def code_of(error)
          [error, error.cause].grep(KafkaError).first&.code || (:unknown if error.is_a?(ProduceError))
        end
      end
    end
  end
end
