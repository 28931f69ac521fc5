# frozen_string_literal: true

require "test_helper"
require "penstock/routing/header_name"

module Penstock
  class HeaderNameTest < TestCase
    test "a header's name is text that any client can write" do
      type = Routing::HeaderName.new
      assert_equal ["ttl_ms", "X-Delay", nil], [:ttl_ms, "X-Delay", nil].map { |value| type.coerce(value) }
      wrong = ["", "a b", "häder", "a\n", "x" * 256, 7, ["ttl"]]
      assert(wrong.all? { |value| Config::Types.invalid?(type.coerce(value)) })
    end
  end
end
