# frozen_string_literal: true

require "test_helper"
require "penstock/config/types"

class TypesTest < Penstock::TestCase
  Types = Penstock::Config::Types

  # A stand-in for ActiveSupport's durations, which claim to be Integers.
  class Duration
    def initialize(seconds) = @seconds = seconds
    def is_a?(type) = type == Integer || super
    def in_milliseconds = @seconds * 1_000
  end

  SecondsOnly = Struct.new(:in_seconds)

  test "a duration in any form is converted to milliseconds" do
    type = Types::Milliseconds.new(min: 1)

    assert_equal 250, type.coerce(250)
    assert_equal 5_000, type.coerce(Duration.new(5))
    assert_equal 1_500, type.coerce(SecondsOnly.new(1.5))
  end

  test "a fractional or too small duration, or another value, is refused" do
    type = Types::Milliseconds.new(min: 1)

    [0, -5, 1.5, "5", nil].each { |value| assert Types.invalid?(type.coerce(value)), value.inspect }
  end

  test "whole numbers keep their bounds" do
    type = Types::Whole.new(min: -3, max: 3)

    assert_equal(-3, type.coerce(-3))
    [-4, 4, 1.0, "1", nil, true].each { |value| assert Types.invalid?(type.coerce(value)), value.inspect }
    assert_equal "an Integer from -3 to 3", type.to_s
  end

  test "a flag is true or false, and no other truthy or falsy value" do
    type = Types::Flag.new

    assert_equal [true, false], [type.coerce(true), type.coerce(false)]
    [nil, 1, "true"].each { |value| assert Types.invalid?(type.coerce(value)), value.inspect }
  end

  test "a word may be a Symbol" do
    type = Types::Word.new("earliest", "latest")

    assert_equal "latest", type.coerce(:latest)
    assert Types.invalid?(type.coerce("middle"))
    assert_equal '"earliest" or "latest"', type.to_s
  end

  test "a name is limited to Kafka's alphabet and length, and isn't . or .." do
    type = Types::Name.new

    assert_equal "a.b-c_D9", type.coerce(:"a.b-c_D9")
    assert_equal "...", type.coerce("...")
    [nil, "", "a b", "ä", "a" * 250, 5, "a\n", ".", :".."].each do |value|
      assert Types.invalid?(type.coerce(value)), value.inspect
    end
  end

  test "a host is an IP address or a name" do
    type = Types::Host.new

    %w[127.0.0.1 :: fe80::1%eth0 localhost pod-1.example].each { |value| assert_equal value, type.coerce(value) }
    [nil, "", "a b", "a/b", "ä", 5, "a\n"].each { |value| assert Types.invalid?(type.coerce(value)), value.inspect }
  end

  test "an object is checked by its methods, and false means none" do
    type = Types::Responding.new(:call)

    assert_nil type.coerce(false)
    assert_respond_to type.coerce(-> {}), :call
    assert Types.invalid?(type.coerce("text"))
  end

  test "several types are tried in order" do
    type = Types::Either.new(Types::Flag.new, Types::Name.new)

    assert_equal true, type.coerce(true)
    assert_equal "node-1", type.coerce("node-1")
    assert Types.invalid?(type.coerce(nil))
  end
end
