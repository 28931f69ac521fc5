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

    test "a date without a zone is local, and begins at midnight" do
      assert_equal Time.new(2026, 1, 31, 12, 30).to_i * 1_000, parse("2026-01-31 12:30")
      assert_equal Time.new(2026, 1, 31).to_i * 1_000, parse("2026-01-31")
    end

    test "anything else is refused with an example" do
      assert_equal "\"soon\" is not a time: write 15m, 2h, 7d, or 2026-01-31T12:00:00Z", assert_raises(ArgumentError) {
        parse("soon")
      }.message
    end

    test "a text that only resembles a time is refused" do
      %w[30min 15min 1h30m 1.5h 2H 7D 10y 2w 100ms -5m 12 12:00 monday 31.1.2026 1/2/2026 2026-01 2026-02-30 2026-13-01
        2026-01-31T24:00 2026-01-31T12 2026-01-31T12:00:00+99:00 2026-01-31T12:00:00ZZ].each do |text|
        assert_raises(ArgumentError, text) { parse(text) }
      end
      ["15m\n", "2026\xff"].each { |text| assert_match(/ is not a time: /, assert_raises(ArgumentError) { parse(text) }.message) }
    end
  end
end
