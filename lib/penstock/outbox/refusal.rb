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
        # @return [:record, :topic, :stuck, :own] what the error concerns; :stuck if the row is only delayed: also after an error
        #   that isn't Kafka's, such as that of a service which the producer's middleware calls
        def of(error)
          return :own if OWN.any? { |kind| error.is_a?(kind) }

          chain = [error, error.cause]
          code = chain.grep(KafkaError).first&.code
          return :topic if TOPIC.include?(code)

          (RECORD.include?(code) || chain.grep(MessageInvalidError).any?) ? :record : :stuck
        end
      end
    end
  end
end
