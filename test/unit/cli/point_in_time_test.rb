# frozen_string_literal: true

require "test_helper"
require "penstock/cli/point_in_time"

module Penstock
  # Times as people type them.
  class PointInTimeTest < TestCase
    NOW = 1_800_000_000_000

    def parse(text) = CLI::PointInTime.parse(text, NOW)

    test "a number with a unit is that long ago" do
      assert_equal [30_000, 900_000, 7_200_000, 604_800_000], %w[30s 15m 2h 7d].map { |text| NOW - parse(text) }
    end

    test "a date is a time, in its zone" do
      assert_equal 1_769_860_800_000, parse("2026-01-31T12:00:00Z")
      assert_equal 1_769_857_200_500, parse("2026-01-31T12:00:00.5+01:00")
    end

    test "anything else is refused with an example" do
      assert_equal "\"soon\" is not a time: write 15m, 2h, 7d, or 2026-01-31T12:00:00Z", assert_raises(ArgumentError) {
        parse("soon")
      }.message
    end
  end
end
