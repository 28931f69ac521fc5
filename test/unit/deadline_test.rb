# frozen_string_literal: true

require "test_helper"
require "penstock/deadline"
require "support/virtual_clock"

class DeadlineTest < Penstock::TestCase
  def setup
    @clock = VirtualClock.new
  end

  test "the remaining time never goes below zero" do
    deadline = Penstock::Deadline.in(100, clock: @clock)

    assert_equal 100, deadline.remaining_ms
    assert_equal 40, @clock.advance(60) && deadline.remaining_ms
    assert_equal 0, @clock.advance(60) && deadline.remaining_ms
    assert_predicate deadline, :expired?
  end

  test "a deadline without a limit never expires" do
    deadline = Penstock::Deadline.never(clock: @clock)

    assert_nil deadline.remaining_ms
    refute_predicate deadline, :expired?
    assert_equal 50, deadline.wait_ms(50)
    assert_same deadline, deadline.before(10)
  end

  test "a wait is no longer than the remaining time" do
    deadline = Penstock::Deadline.in(30, clock: @clock)

    assert_equal 30, deadline.wait_ms(1_000)
    assert_equal 10, deadline.wait_ms(10)
  end

  test "a deadline can be shortened but not prolonged" do
    deadline = Penstock::Deadline.in(5_000, clock: @clock)

    assert_equal 1_000, deadline.within(1_000).remaining_ms
    assert_same deadline, deadline.within(9_000)
    assert_equal 4_000, deadline.before(1_000).remaining_ms
  end

  test "a jump of the wall clock changes nothing" do
    deadline = Penstock::Deadline.in(100, clock: @clock)
    @clock.jump_wall(-3_600_000)

    assert_equal 100, deadline.remaining_ms
  end
end
