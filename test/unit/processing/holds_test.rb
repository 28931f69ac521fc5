# frozen_string_literal: true

require "test_helper"
require "penstock/processing/holds"

module Penstock
  class HoldsTest < TestCase
    def setup = @holds = Processing::Holds.new

    test "a lane is open when its last reason has ended: none ends another one's hold" do
      @holds.add(:user)
      @holds.add(:retry, 10)
      assert @holds.release(:user)
      refute @holds.open?
      refute @holds.release(:user)
      @holds.release(:retry)

      assert @holds.open?
    end

    test "holds with a time end at it, others only when they are released" do
      @holds.add(:user)
      @holds.add(:retry, 10)
      @holds.add(:throttle, 20)
      assert_equal 10, @holds.next_due
      assert_empty @holds.expire(9)
      assert_equal [:retry], @holds.expire(10)
      assert_equal [:throttle], @holds.expire(1_000)

      assert_equal [[:user], nil], [@holds.reasons, @holds.next_due]
    end

    test "adding a reason again sets its time" do
      @holds.add(:retry, 10)
      @holds.add(:retry, 30)

      assert_equal [30, true], [@holds.due(:retry), @holds.only?(:retry)]
    end

    test "an unknown reason is refused" do
      assert_equal "unknown hold :whim", assert_raises(ArgumentError) { @holds.add(:whim) }.message
    end
  end
end
