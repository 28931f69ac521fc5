# frozen_string_literal: true

require "test_helper"
require "penstock/execution/run_queue"

module Penstock
  class RunQueueSlotTest < TestCase
    def slot(*units, **options)
      Execution::RunQueue::Slot.new("orders", **options).tap { |slot| slot.pending.concat(units) }
    end

    test "a mark is reached once, when no more units than that are left" do
      slot = slot(:a, :b, :c, width: 3)
      assert_nil slot.take_low_mark
      assert slot.watch_supply(1)
      marks = Array.new(3) { slot.pending.shift && slot.take_low_mark }

      assert_equal [nil, 1, nil], marks
    end

    test "a mark that was reached before it was set is reached with the next unit" do
      slot = slot(:a, width: 3)

      refute slot.watch_supply(1)
      assert_equal 1, slot.take_low_mark
    end

    test "quick units have room for one worker, others for as many as may run" do
      slot = slot(:a, :b, :c, width: 2)
      assert_equal 2, slot.room
      slot.quick = true

      assert_equal 1, slot.room
    end
  end
end
