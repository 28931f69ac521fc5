# frozen_string_literal: true

require "test_helper"
require "penstock/consumer/marks"

module Penstock
  class MarksTest < TestCase
    def setup = @marks = Consumer::Marks.new

    test "a mark completes its record and everything before it, and never goes back" do
      assert_equal(-1, @marks.through)
      assert @marks.mark(4)
      assert @marks.mark(2)

      assert_equal 5, @marks.through
    end

    test "after the partition is lost marks return false and change nothing" do
      @marks.mark(1, "kept")
      @marks.end_ownership!

      refute @marks.mark(7, "late")
      assert_equal [2, "kept", false, true], [@marks.through, @marks.metadata, @marks.owned?, @marks.leaving?]
    end

    test "at the end of a stop marks return false, while those that a process of a pool made before still count" do
      @marks.cut_off!
      refute @marks.mark(3)
      @marks.reported(3)
      assert_equal 4, @marks.through

      @marks.end_ownership!
      @marks.reported(8)
      assert_equal 4, @marks.through
    end

    test "leaving is seen by the user's loops, and marks count until the end" do
      @marks.leave!

      assert_equal [true, true, true], [@marks.leaving?, @marks.owned?, @marks.mark(0)]
    end

    test "a mark in a separate cell counts only if the cell takes it; its metadata, too" do
      refute @marks.within(5, "refused") { false }
      assert @marks.within(6, "taken") { true }
      assert_equal [-1, "taken"], [@marks.through, @marks.metadata]

      @marks.end_ownership!
      refute @marks.within(7, "late") { flunk "asked without the partition" }
    end

    test "exact metadata goes with the first commit that has passed its record" do
      exact = Consumer::Marks.new(exact: true)
      exact.within(2, "two") { true }
      exact.within(9, "nine") { true }

      assert_equal [nil, "two", "two", "nine"], [2, 3, 9, 10].map { |offset| exact.metadata_at(offset) }
    end

    test "renewed marks begin at nothing and keep the metadata; the old ones return false from then on" do
      @marks.mark(3, "note")
      @marks.carried!
      fresh = @marks.renew

      assert_equal [-1, "note", true, true], [fresh.through, fresh.metadata, fresh.carried?, fresh.mark(0)]
      refute @marks.mark(5)
      assert_equal 4, @marks.through
    end

    test "renewing the marks of a lost partition doesn't give it back" do
      @marks.end_ownership!

      refute @marks.renew.mark(0)
    end
  end
end
