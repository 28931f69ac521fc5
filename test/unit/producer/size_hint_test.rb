# frozen_string_literal: true

require "test_helper"
require "penstock/producer/size_hint"

class SizeHintTest < Penstock::TestCase
  def hint(message, **kafka) = Penstock::Producer::SizeHint.of(message, kafka)

  test "a message below the producer's limit was too large for its topic" do
    assert_equal "It has 8 bytes, more than the topic's max.message.bytes: send less, or raise it",
      hint({payload: "12345", key: :abc, headers: nil})
  end

  test "the producer's limit is named, also where it isn't set" do
    assert_match(/\AIt has 1000000 bytes, and this producer's message.max.bytes is 1000000:/, hint({payload: "x" * 1_000_000}))
    assert_match(/\AIt has 10 bytes, and this producer's message.max.bytes is 10:/,
      hint({payload: "123", headers: {"a" => %w[bc d], "ef" => "g"}}, "message.max.bytes": "10"))
  end
end
