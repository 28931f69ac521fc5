# frozen_string_literal: true

module Penstock
  module CLI
    # Reads a time that a person types: `15m`, `2h`, `7d` ago, or a date. Stateless.
    module PointInTime
      UNITS = {"s" => 1_000, "m" => 60_000, "h" => 3_600_000, "d" => 86_400_000}.freeze
      private_constant :UNITS

      # @param text [String]
      # @param now_ms [Integer] ms since 1970
      # @return [Integer] ms since 1970
      # @raise [ArgumentError] it isn't a time
      def self.parse(text, now_ms)
        number, unit = text.match(/\A(\d+)([smhd])\z/)&.captures
        return now_ms - (Integer(number, 10) * UNITS.fetch(unit)) if number

        require "time"
        (Time.parse(text).to_r * 1_000).to_i
      rescue ArgumentError
        raise ArgumentError, "#{text.inspect} is not a time: write 15m, 2h, 7d, or 2026-01-31T12:00:00Z"
      end
    end
  end
end
