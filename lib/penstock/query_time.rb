# frozen_string_literal: true

module Penstock
  # Times in questions to Kafka ("the first record at or after …"): there, negative numbers have other meanings, such as the end.
  module QueryTime
    LAST = (2**63) - 1
    private_constant :LAST

    # @param time [Time]
    # @return [Integer] milliseconds since 1970, rounded up, as a record within the same millisecond may be older; a time that
    #   Kafka can't have becomes the next one that it can
    def self.ms(time) = (time.to_r * 1_000).ceil.clamp(0, LAST)
  end
end
