# frozen_string_literal: true

require "test_helper"
require "penstock/clock"
require "support/virtual_clock"

class ClockTest < Penstock::TestCase
  test "both answers are whole milliseconds" do
    clock = Penstock::Clock.new

    assert_kind_of Integer, clock.monotonic_ms
    assert_in_delta Time.now.to_f * 1_000, clock.wall_ms, 5_000
  end

  test "the virtual clock has the same methods" do
    assert_empty Penstock::Clock.public_instance_methods(false) - VirtualClock.public_instance_methods(false)
  end
end
