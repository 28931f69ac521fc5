# frozen_string_literal: true

require_relative "../native/kafka_error"

module Penstock
  class Admin
    # Answers of brokers to a request for a group that must be without members, and isn't.
    module Occupied
      # By the kind of request: a commit by a client that isn't a member, a deletion of the group, or of its offsets.
      CODES = %i[unknown_member_id illegal_generation rebalance_in_progress stale_member_epoch non_empty_group
        group_subscribed_to_topic].freeze
      NUMBERS = CODES.map { |code| Native.error_number(code) }.freeze
      TEXT = "it has members; stop all its processes first"
      private_constant :CODES, :NUMBERS

      # @param number [Integer] a broker's error
      # @return [String, nil] what to do; nil for any other error
      def self.message(number)
        TEXT if NUMBERS.include?(number)
      end
    end
  end
end
