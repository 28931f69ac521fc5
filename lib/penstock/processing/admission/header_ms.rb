# frozen_string_literal: true

module Penstock
  module Processing
    module Admission
      # Reads a duration in ms from a header of a record. Anybody may write headers: only 1 to 15 decimal digits count, everything
      # else is as if the header were missing. Stateless.
      class HeaderMs
        # Longer than anybody waits, and an Integer that needs no heap memory.
        MOST_DIGITS = 15
        DIGITS = /\A[0-9]+\z/n
        private_constant :MOST_DIGITS, :DIGITS

        # @param name [String, nil]
        # @return [HeaderMs, nil]
        def self.for(name) = name && new(name)

        # @param name [String]
        def initialize(name)
          @name = name
        end

        # @param messages [Messages]
        # @param position [Integer]
        # @return [Integer, nil] nil if the record has no such header, or one with another value
        def call(messages, position)
          text = Array(messages.keyed(position).raw_headers[@name]).last
          return if text.nil? || text.bytesize > MOST_DIGITS

          text = text.b
          Integer(text, 10) if DIGITS.match?(text)
        end
      end
    end
  end
end
