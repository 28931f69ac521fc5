# frozen_string_literal: true

require "test_helper"
require "penstock/native"
require "penstock/runtime/loop/held_name"

module Penstock
  class HeldNameTest < TestCase
    test "a name is awaited for a minute, each time that it is taken" do
      name = Runtime::HeldName.new
      refused, other = %i[unreleased_instance_id fenced_instance_id].map do |code|
        Native.error_for(Native.error_number(code), "no")
      end

      assert_equal [false, false, true, true], [0, 31_500, 63_500, 70_000].map { |now| name.given_up(refused, now) }
      assert_equal [false, false, true], [200_000, 259_999, 260_000].map { |now| name.given_up(refused, now) }
      refute name.given_up(other, 260_001)
      refute name.given_up(IOError.new, 260_001)
    end
  end
end
