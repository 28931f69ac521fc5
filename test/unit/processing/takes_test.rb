# frozen_string_literal: true

require "test_helper"
require "support/lanes"

module Penstock
  class TakesTest < TestCase
    include TestSupport::Lanes

    test "a take that doesn't begin at the tail is never admitted, and the source seeks back" do
      lane = lane(committed: 0)
      admit(lane, batch(0..4, from: 0))
      ports = admit(lane, batch(10..12, from: 10))
      assert_equal [[["orders", 0], 5, :discontinuity]], ports.seeks
      assert_equal 5, lane.ledger.tail
      assert_equal "consumer.discontinuity", ports.events.first.first
    end

    test "the end of an empty partition is a position worth committing" do
      lane = lane()
      admit(lane, batch([], from: -1001, eof: 42))
      assert_equal 42, lane.committable_offset
    end

    test "with nothing incomplete the base moves to the end of a log that ends in markers" do
      lane = lane(committed: 0)
      admit(lane, batch(0..2, from: 0))
      settle(lane, lane.next_unit)
      admit(lane, batch([], from: 3, eof: 5))
      assert_equal 5, lane.committable_offset
      admit(lane, batch([5], from: 5))
      assert_equal [5], offsets_of(lane.next_unit)
    end

    test "the end of the partition moves nothing while records are incomplete" do
      lane = lane(committed: 0)
      admit(lane, batch(0..2, from: 0, eof: 5))
      assert_equal 0, lane.committable_offset
    end

    test "a first take below the committed offset is corrected by a seek once, then it means the log went backwards" do
      lane = lane(committed: 100)
      ports = admit(lane, batch(0..3, from: 100))
      assert_equal [[["orders", 0], 100, :below_committed]], ports.seeks
      assert_equal 100, lane.committable_offset
      ports = admit(lane, batch(0..3, from: 100))
      assert_equal "consumer.offset_reset", ports.events.first.first
      assert_equal 0, lane.committable_offset
      assert_equal 1, lane.incarnation
      assert_equal [0, 1, 2, 3], offsets_of(lane.next_unit)
    end

    test "records rejected below the committed offset aren't a gap before the end of the partition" do
      lane = lane(committed: 100)
      admit(lane, batch(90..105, from: 90, eof: 106))
      assert_equal [100, 100], [lane.committable_offset, lane.ledger.tail]
      ports = admit(lane, batch(100..105, from: 100, eof: 106))
      assert_equal [[], 100], [ports.events, lane.committable_offset]
      settle(lane, lane.next_unit)
      assert_equal 106, lane.committable_offset
    end

    test "records repeated after a rebalance are dropped, the rest is taken" do
      lane = lane(committed: 0)
      admit(lane, batch(0..9, from: 0))
      lane.next_unit
      lane.takes.may_repeat!
      ports = admit(lane, batch(5..12, from: 5))
      assert_empty ports.events
      assert_equal [10, 11, 12], offsets_of(lane.next_unit)
      assert_equal 13, lane.ledger.tail
    end

    test "a take that repeats its beginning in the middle, after a rebalance, is admitted once" do
      lane = lane(committed: 3)
      admit(lane, batch([3, 4], from: 3))
      first = lane.next_unit
      settle(lane, first)
      lane.takes.may_repeat!
      ports = admit(lane, batch([5, 6, 3, 4, 5, 6, 7], from: 5))

      assert_equal [5, 8], [lane.ledger.base, lane.ledger.tail]
      assert_empty ports.events
      seen = []
      while (unit = lane.next_unit)
        seen.concat(offsets_of(unit))
        settle(lane, unit)
      end
      assert_equal [5, 6, 7], seen
    end

    test "records that the library repeats after a reopening don't mean that the log went backwards" do
      one = lane(committed: 0)
      admit(one, batch(0..4, from: 0))
      one.next_unit
      one.reopen(3) { [[4, 5]] }
      ports = admit(one, batch(0..6, from: 3))
      assert_equal [1, 3, [3, 5, 6], []], [one.incarnation, one.committable_offset, offsets_of(one.next_unit), ports.events]
    end
  end
end
