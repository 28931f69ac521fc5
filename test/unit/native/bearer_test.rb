# frozen_string_literal: true

require "test_helper"
require "penstock/native/bearer"

# Mistakes in the arguments of a token listener.
class BearerTest < Penstock::TestCase
  # Accepts everything.
  class Client
    attr_reader :calls

    def initialize = @calls = []
    def oauthbearer_set_token(**token) = @calls << token
    def oauthbearer_set_token_failure(reason) = @calls << reason
  end
  TOKEN = {token: "canary", lifetime_ms: 1_800_000_000_000, principal_name: "app"}.freeze

  def setup
    @client = Client.new
    @bearer = Penstock::Native::Bearer.new(@client)
  end

  test "a token's argument that can't be used is named, never with its value" do
    {
      {token: nil} => "token: takes a String, not nil",
      {token: :canary} => "token: takes a String, not Symbol",
      {token: "canary\0"} => "token: contains a zero byte",
      {principal_name: nil} => "principal_name: takes a String, not nil",
      {principal_name: "a\0"} => "principal_name: contains a zero byte",
      {lifetime_ms: nil} => "lifetime_ms: takes milliseconds since 1970, an Integer, not nil",
      {lifetime_ms: "1"} => "lifetime_ms: takes milliseconds since 1970, an Integer, not String",
      {lifetime_ms: Time.at(5)} => "lifetime_ms: takes milliseconds since 1970, not a Time: write (time.to_f * 1000).to_i",
      {lifetime_ms: 1_800_000_000} =>
        "lifetime_ms: takes milliseconds since 1970, 1800000000 looks like seconds: multiply it by 1000"
    }.each do |wrong, message|
      error = assert_raises(TypeError, ArgumentError) { @bearer.oauthbearer_set_token(**TOKEN, **wrong) }
      assert_equal message, error.message
    end
    assert_empty @client.calls
    refute_predicate @bearer, :answered?
  end

  test "a lifetime with a fraction, and a token of binary text, are passed on" do
    @bearer.oauthbearer_set_token(**TOKEN, token: "\xFF", lifetime_ms: 1_800_000_000_000.5)

    assert_equal ["\xFF", 1_800_000_000_000.5], @client.calls.first.values_at(:token, :lifetime_ms)
  end

  test "a failure needs a reason" do
    error = assert_raises(TypeError) { @bearer.oauthbearer_set_token_failure(nil) }

    assert_equal "reason: takes a String, not nil", error.message
    assert_raises(ArgumentError) { @bearer.oauthbearer_set_token_failure("a\0b") }
    assert_empty @client.calls
  end
end
