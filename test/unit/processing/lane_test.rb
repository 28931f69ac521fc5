# frozen_string_literal: true

require "test_helper"
require "support/lanes"

module Penstock
  class LaneTest < TestCase
    include TestSupport::Lanes

    test "a successful unit completes its records and the gap after them" do
      lane = lane(route(max_messages: 2), committed: 10)
      admit(lane, batch([10, 11, 15, 16], from: 10))
      first = lane.next_unit
      assert_equal [10, 11], offsets_of(first)
      settle(lane, first)
      assert_equal 15, lane.committable_offset
      settle(lane, lane.next_unit)
      assert_equal 17, lane.committable_offset
    end

    test "a lane hands out one unit and one after it, not more" do
      lane = lane(route(max_messages: 1), committed: 0)
      admit(lane, batch(0..5, from: 0))
      assert_equal [[0], [1]], [offsets_of(lane.next_unit), offsets_of(lane.next_unit)]
      assert_nil lane.next_unit
    end

    test "more units wait if they are quick, and only one if they are slow" do
      lane = lane(route(max_messages: 1), committed: 0)
      admit(lane, batch(0..9, from: 0))
      lane.division.took(0)
      units = Array.new(4) { lane.next_unit }
      assert units.all?
      assert_nil lane.next_unit
      units.first(3).each { |unit| lane.returned(unit) }
      units.first.took(50_000)
      refute_nil lane.next_unit
      assert_nil lane.next_unit
    end

    test "an open breaker doesn't probe while a record runs that must be alone" do
      lane = lane(route(max_messages: 1), committed: 0)
      admit(lane, batch(0..2, from: 0))
      equip(lane, suspects: Struct.new(:alone?).new(true))
      unit = lane.next_unit
      lane.holds.add(:breaker)
      refute lane.probing.possible?
      equip(lane, suspects: Struct.new(:alone?).new(false))
      assert lane.probing.possible?
      equip(lane, suspects: nil)
      lane.returned(unit)
      assert lane.probing.possible?
    end

    test "adopted metadata, which is committed again, reduces the room for the map" do
      pressed = [nil, "x" * 1_024, "x" * 4_000].map do |metadata|
        lane = lane(committed: 0)
        lane.adopt(0, Array.new(950) { |index| [index * 7 + 1 + index % 5, index * 7 + 3 + index % 5] })
        lane.commit_state.adopted_metadata = metadata
        lane.commit_state.pressed?
      end
      assert_equal [false, true, true], pressed
    end

    test "a take that doesn't begin at the tail is never admitted, and the source seeks back" do
      lane = lane(committed: 0)
      admit(lane, batch(0..4, from: 0))
      ports = admit(lane, batch(10..12, from: 10))
      assert_equal [[["orders", 0], 5, :discontinuity]], ports.seeks
      assert_equal 5, lane.ledger.tail
      assert_equal "consumer.discontinuity", ports.events.first.first
    end

    test "without a committed offset the first record sets the lane's position" do
      lane = lane()
      admit(lane, batch(7..8, from: -1001))
      assert_equal [7, 9], [lane.committable_offset, lane.ledger.tail]
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

    test "a new incarnation doesn't wait for a dead letter of the previous one" do
      lane = lane(committed: 0)
      lane.holds.add(:dead_letter)
      lane.letter_sent
      lane.reincarnate(0)
      assert_equal [true, true], [lane.open?, lane.idle?]
    end

    test "a log that goes backwards begins a new incarnation, and earlier units don't count any more" do
      lane = lane(route(max_messages: 3), committed: 50)
      admit(lane, batch(50..52, from: 50))
      old = lane.next_unit
      ports = admit(lane, batch(0..1, from: 53))
      name, payload = ports.events.first
      assert_equal ["consumer.offset_reset", 53, 0], [name, payload[:old_offset], payload[:new_offset]]
      settle(lane, old)
      assert_equal 0, lane.committable_offset
      refute old.messages.first.then { |message| message_marks(message).owned? }
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

    test "records deleted by retention are counted" do
      lane = lane(committed: 10)
      ports = admit(lane, batch(50..51, from: 10), low: 50)
      assert_equal 40, ports.events.first.last[:count]
      assert_equal [50, 51], offsets_of(lane.next_unit)
    end

    test "a gap left by compaction emits no event" do
      lane = lane(committed: 10)
      assert_empty admit(lane, batch(50..51, from: 10), low: 3).events
    end

    test "the leader epoch of a commit is that of the record below it" do
      lane = lane(committed: 0)
      admit(lane, batch(0..4, from: 0, epoch: 3))
      admit(lane, batch(5..9, from: 5, epoch: 4))
      assert_equal [-1, 3, 3, 4], [0, 1, 5, 6].map { |base| lane.leader_epochs.below(base) }
    end

    private

    def message_marks(message) = message.instance_variable_get(:@batch).context.marks

    test "a take in which the log goes backwards is admitted in parts: records after the step belong to the new log" do
      lane = lane(committed: 3)
      ports = admit(lane, batch([3, 4, 0, 1], from: 3))

      assert_equal([["consumer.offset_reset", 5, 0]], ports.events.map { |name, payload|
        [name, payload[:old_offset], payload[:new_offset]]
      })
      assert_equal [0, 2], [lane.ledger.base, lane.ledger.tail]
      assert_equal [0, 1], offsets_of(lane.next_unit)
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
