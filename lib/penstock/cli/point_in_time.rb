# frozen_string_literal: true

module Penstock
  module CLI
    # Reads a time that a person types: `15m`, `2h`, `7d` ago, or a date. `Time.parse` alone would find some time in almost any
    # text (`30min` is the 30th of this month for it), and the command would act on that. Stateless.
    module PointInTime
      UNITS = {"s" => 1_000, "m" => 60_000, "h" => 3_600_000, "d" => 86_400_000}.freeze
      # ISO 8601: a date, or one with a time. Without a zone it is the local one.
      DATE = /\A(\d{4})-(\d\d)-(\d\d)(?:[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z| ?[+-]\d\d:?\d\d)?)?\z/
      private_constant :UNITS, :DATE

      # @param text [String]
      # @param now_ms [Integer] ms since 1970
      # @return [Integer] ms since 1970
      # @raise [ArgumentError] it isn't a time
      def self.parse(text, now_ms)
        number, unit = text.match(/\A(\d+)([smhd])\z/)&.captures
        return now_ms - (Integer(number, 10) * UNITS.fetch(unit)) if number

        date(text)
      rescue ArgumentError
        raise ArgumentError, "#{text.inspect} is not a time: write 15m, 2h, 7d, or 2026-01-31T12:00:00Z"
      end

      def self.date(text)
        require "time"
        day = text.match(DATE)&.captures
        raise ArgumentError unless day && Date.valid_civil?(*day.map { |part| Integer(part, 10) })

        (Time.parse(text).to_r * 1_000).to_i
      end
      private_class_method :date
    end
  end
end
