# frozen_string_literal: true

require "test_helper"
require "penstock/config/property_values"

class PropertyValuesTest < Penstock::TestCase
  Values = Penstock::Config::PropertyValues

  # Property and value => what is meant.
  MEANT = {
    ["session.timeout.ms", "10s"] => "Write 10_000",
    ["session.timeout.ms", "10 seconds"] => "Write 10_000",
    ["max.poll.interval.ms", "5min"] => "Write 300_000",
    ["linger.ms", "5ms"] => "Write 5",
    ["linger.ms", "1_000"] => "Write 1_000",
    ["batch.size", "1e6"] => "Write 1_000_000",
    ["fetch.max.bytes", "1 MB"] => "Write 1_048_576",
    ["fetch.max.bytes", 1.5] => nil,
    ["fetch.max.bytes", "many"] => nil,
    ["session.timeout.ms", "10 fortnights"] => nil,
    ["session.timeout.ms", ""] => "Remove it to use the default"
  }.freeze

  MEANT.each do |(name, value), way_out|
    test "#{value.inspect} isn't a value of #{name}" do
      message, hint = Values.number(name, value)

      assert_match(/\Amust be an? .*, is #{Regexp.escape(value.inspect)}\z/, message)
      assert_equal [way_out], [hint]
    end
  end

  test "only numbers are checked" do
    assert_nil Values.number("client.id", "10s")
    assert_nil Values.number("enable.idempotence", "yes")
    assert_nil Values.number("no.such.property", "10s")
  end
end
