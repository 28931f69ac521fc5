# frozen_string_literal: true

require "test_helper"
require "support/redelivered"

module Penstock
  # Manual offsets: a `tick` that raises may have lost what its consumer held.
  class RedeliveryAfterTicksTest < TestCase
    include TestSupport::Redelivered

    test "gathered records are redelivered after a failing tick; if it fails each time, not at once" do
      lane = manual(8)
      gather(lane, 2)
      tick = lane.action_unit(:tick, Messages.new(batch([])))
      settle(lane, tick, error: IOError.new)

      assert_equal %i[retry redelivery], lane.holds.reasons
      assert_equal 0, go_back(lane)
    end

    def failing_tick(lane) = settle(lane, lane.action_unit(:tick, Messages.new(batch([]))), error: IOError.new)

    # The records are handed out, the tick fails, the lane goes back and takes them again.
    # @return [Integer] how long the lane waits after the tick, in ms
    def tick_round(lane)
      units(lane)
      failing_tick(lane)
      lane.holds.due(:retry).tap do
        from = go_back(lane)
        admit(lane, batch(from...lane.ledger.tail, from: from))
      end
    end

    test "the wait after a tick that fails each time grows as a record's does" do
      lane = manual(8)

      assert_equal [2_000, 4_000, 8_000, 16_000, 30_000, 30_000], Array.new(6) { tick_round(lane) }
    end

    test "the wait after a failing tick begins again at the shortest when the lowest incomplete record is complete" do
      lane = manual(8)
      3.times { tick_round(lane) }
      unit = lane.next_unit
      unit.messages.first.mark_cell.mark(0)
      settle(lane, unit)

      assert_equal [2_000, 4_000], Array.new(2) { tick_round(lane) }
    end

    test "failures of ticks are no attempts of records" do
      lane = manual(8)
      3.times { tick_round(lane) }

      assert_equal [1, {}], [lane.next_unit.attempt, lane.attempts.to_h]
    end

    test "a tick that fails while a retry waits doesn't shorten the wait" do
      lane = manual(8)
      gather(lane, 1)
      lane.holds.add(:retry, 30_000)
      settle(lane, lane.action_unit(:tick, Messages.new(batch([]))), error: IOError.new)

      assert_equal 30_000, lane.holds.due(:retry)
    end

    test "a tick that fails while its consumer's records are about to be redelivered doesn't delay them" do
      lane = manual(8)
      gather(lane, 1)
      (0..5_000).step(1_000) do |now|
        lane.holds.expire(now)
        break if lane.redelivery.due?
        settle(lane, lane.action_unit(:tick, Messages.new(batch([]))), error: IOError.new, now: now)
      end

      assert lane.redelivery.due?, lane.holds.to_h.inspect
    end

    test "a tick that fails when everything is marked changes nothing" do
      lane = manual(4)
      unit = lane.next_unit
      unit.messages.last.mark_cell.mark(3)
      settle(lane, unit)
      settle(lane, lane.action_unit(:tick, Messages.new(batch([]))), error: IOError.new)

      assert_empty lane.holds.reasons
    end
  end
end
