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

    test "a first take below the committed offset: that is read again, and if it is confirmed, the log went backwards" do
      lane = lane(committed: 100)
      ports = admit(lane, batch(0..3, from: 100))
      assert_equal [[[["orders", 0], 0]], [], 100], [ports.read_again, ports.seeks, lane.committable_offset]
      lane.reopen(100) { [] }
      ports = admit(lane, batch(0..3, from: 100))
      assert_equal "consumer.offset_reset", ports.events.first.first
      assert_equal 0, lane.committable_offset
      assert_equal 2, lane.incarnation
      assert_equal [0, 1, 2, 3], offsets_of(lane.next_unit)
    end

    test "records rejected below the committed offset aren't a gap before the end of the partition" do
      lane = lane(committed: 100)
      admit(lane, batch(90..105, from: 90, eof: 106))
      assert_equal [100, 100], [lane.committable_offset, lane.ledger.tail]
      lane.reopen(100) { [] }
      ports = admit(lane, batch(100..105, from: 100, eof: 106))
      assert_equal [[], 100], [ports.events, lane.committable_offset]
      settle(lane, lane.next_unit)
      assert_equal 106, lane.committable_offset
    end

    test "an end below the committed offset: that is read again" do
      lane = lane(committed: 100)
      ports = admit(lane, batch([], from: -1001, eof: 60))
      assert_equal [[[["orders", 0], 60]], 100, true], [ports.read_again, lane.committable_offset, lane.commit_state.undecided?]
      lane.reopen(60) { [] }
      ports = admit(lane, batch([], from: 60, eof: 60))
      assert_equal [[], 60, false], [ports.read_again, lane.committable_offset, lane.commit_state.undecided?]
    end

    test "a first take beyond the committed offset is a gap only if the source begins there again" do
      lane = lane(committed: 100)
      ports = admit(lane, batch(103..105, from: 100))
      assert_equal [[["orders", 0], 100, :above_committed]], ports.seeks
      assert_equal [100, true, nil], [lane.ledger.tail, lane.commit_state.undecided?, lane.next_unit]
      ports = admit(lane, batch(103..105, from: 100))
      assert_equal [[], [], [103, 104, 105]], [ports.seeks, ports.read_again, offsets_of(lane.next_unit)]
      refute lane.commit_state.undecided?
      assert_empty admit(lane, batch(108..110, from: 106)).seeks
    end

    test "a gap may be larger after the seek: records were deleted meanwhile" do
      lane = lane(committed: 100)
      admit(lane, batch(103..105, from: 100))
      assert_empty admit(lane, batch(104..105, from: 100)).read_again
      assert_equal [104, 105], offsets_of(lane.next_unit)
    end

    test "records in what looked like a gap show that one of two answers was wrong: the offset is read again" do
      [100..102, 101..102, 90..99].each do |offsets|
        lane = lane(committed: 100)
        admit(lane, batch(103..105, from: 100))
        ports = admit(lane, batch(offsets, from: 100))
        assert_equal [[[["orders", 0], offsets.first]], []], [ports.read_again, ports.seeks]
        assert_equal [100, nil], [lane.ledger.tail, lane.next_unit]
      end
    end

    test "an end beyond the committed offset moves the base only if the source gets there again" do
      lane = lane(committed: 100)
      ports = admit(lane, batch([], from: -1001, eof: 105))
      assert_equal [[["orders", 0], 100, :above_committed], 100], [*ports.seeks, lane.committable_offset]
      admit(lane, batch([], from: 100, eof: 105))
      assert_equal 105, lane.committable_offset
      lane = lane(committed: 100)
      admit(lane, batch([], from: -1001, eof: 105))
      ports = admit(lane, batch(100..104, from: 100, eof: 105))
      assert_equal [[[["orders", 0], 100]], 100], [ports.read_again, lane.committable_offset]
    end

    test "a source that begins where retention has left the log isn't moved back" do
      lane = lane(committed: 100)
      ports = admit(lane, batch(150..152, from: 100), low: 150)
      assert_equal [[], "consumer.offset_reset", 50], [ports.seeks, ports.events[0][0], ports.events[0][1][:count]]
      assert_equal [150, 151, 152], offsets_of(lane.next_unit)
    end

    test "a source that begins beyond what retention has left is moved there, unless its route goes to the end then" do
      lane = lane(committed: 100)
      ports = admit(lane, batch(203..205, from: 100), low: 150)
      assert_equal [[["orders", 0], 150, :above_committed]], ports.seeks
      ports = admit(lane, batch(203..205, from: 100), low: 150)
      assert_equal [[], "consumer.offset_reset", 50], [ports.seeks, ports.events[0][0], ports.events[0][1][:count]]
      to_end = lane(route(initial_offset: "latest"), committed: 100)
      to_end.takes.start.to_end = true
      assert_empty admit(to_end, batch(203..205, from: 100), low: 150).seeks
      assert_equal [203, 204, 205], offsets_of(to_end.next_unit)
    end

    test "until the source has begun where the group has committed, nothing is committed" do
      assert lane(committed: 100).commit_state.undecided?
      refute lane.commit_state.undecided?
      sought = lane(committed: 100)
      sought.reincarnate(20)
      refute sought.commit_state.undecided?
      lane = lane(committed: 100)
      admit(lane, batch([], from: -1001, eof: 100))
      refute lane.commit_state.undecided?
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
