# frozen_string_literal: true

require "test_helper"
require "penstock/cautious_clock"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/processing/admission/due"
require "penstock/processing/admission/selection"

module Penstock
  class DueTest < TestCase
    WALL = 1_700_000_000_000

    def look(step, dues, now: 0, wall: WALL, first: 0)
      rows = dues.each_with_index.map do |due, index|
        headers = due && {"penstock_due_at" => due.to_s}
        Messages::MemoryBatch::Row.new(offset: first + index, payload: "p", headers: headers)
      end
      selection = Processing::Admission::Selection.new(Messages.new(Messages::MemoryBatch.new("t", 0, rows)))
      step.call(selection, now, wall)
      [selection.run.messages.size, selection.run.hold]
    end

    def due(delay_ms = 5_000) = Processing::Admission::Due.new(delay_ms, CautiousClock.new)

    test "due records are admitted; the first that isn't due holds the rest until it is" do
      assert_equal [2, [:delay, 700]], look(due, [WALL - 5, WALL, WALL + 700, WALL - 5])
      assert_equal [1, nil], look(due, [WALL])
    end

    test "a record without a readable header is admitted at once" do
      assert_equal [2, nil], look(due, [nil, "soon"])
    end

    test "no wall clock can block a lane: no record waits longer than the delay from when it was first looked at" do
      step = due(5_000)
      assert_equal [0, [:delay, 5_000]], look(step, [WALL + 9_999_999])
      assert_equal [0, [:delay, 5_000]], look(step, [WALL + 9_999_999], now: 4_000)
      assert_equal [1, nil], look(step, [WALL + 9_999_999], now: 5_000)
      assert_equal [0, [:delay, 10_000]], look(step, [WALL + 9_999_999], now: 5_000, first: 1)
    end

    test "records that were first looked at together leave together, also where a wrong clock made them wait" do
      step = due(5_000)
      assert_equal [0, [:delay, 5_000]], look(step, [WALL + 9_999_999] * 3)
      assert_equal [3, [:delay, 10_000]], look(step, [WALL + 9_999_999] * 4, now: 5_000), "the fourth was not among them"
      step.reset
      assert_equal [0, [:delay, 10_100]], look(step, [WALL + 9_999_999], now: 5_100)
    end
  end
end
