# frozen_string_literal: true

require_relative "../errors"
require_relative "../native"

module Penstock
  module Runtime
    # Maps librdkafka's error numbers to names, as {KafkaError#code} spells them.
    module ErrorCodes
      class << self
        # @param number [Integer]
        # @return [Symbol] `:stale_member_epoch`; `:"error_4711"` for a number the library doesn't know
        def of(number) = names.fetch(number) { :"error_#{number}" }

        private

        def names
          @names ||= Native.error_numbers.to_h { |name, number| [number, KafkaError.code_of(name)] }.freeze
        end
      end
    end
  end
end
