# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module Delays
    # Distinguishes messages that a topic doesn't take from outages, which concern all messages. Pure.
    module Refusals
      SIZE = %i[msg_size_too_large record_list_too_large invalid_msg_size].freeze
      TARGET = %i[
        unknown_topic unknown_topic_or_part unknown_partition topic_exception topic_authorization_failed invalid_record
        invalid_timestamp policy_violation
      ].freeze
      private_constant :SIZE, :TARGET

      class << self
        # @param error [Exception] a message's, or its cause's
        # @return [Boolean] whether the message is too large
        def size?(error) = error.is_a?(MessageTooLargeError) || SIZE.include?(code(error))

        # @param error [Exception]
        # @param target [Boolean] whether the message was produced to its target, not to a delay topic
        # @return [Boolean] whether the same message would be refused again, while others aren't
        def permanent?(error, target:)
          error.is_a?(MessageInvalidError) || size?(error) || (target && TARGET.include?(code(error)))
        end

        # @param topic [String]
        # @return [KafkaError]
        def missing(topic)
          KafkaError.new("the topic #{topic} doesn't exist, or can't be seen", code: :unknown_topic_or_part, number: 3)
        end

        # @param topic [String] which refused it
        # @param error [Exception]
        # @return [DelayError] for the dead letter
        def reason(topic, error) = DelayError.new("#{topic} doesn't take the delayed message: #{error.message}")

        private

        def code(error) = error.respond_to?(:code) ? error.code : nil
      end
    end
  end
end
