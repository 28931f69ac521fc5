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
      lane.division.record_time(0)
      units = Array.new(4) { lane.next_unit }
      assert units.all?
      assert_nil lane.next_unit
      units.first(3).each { |unit| lane.returned(unit) }
      units.first.record_time(50_000)
      refute_nil lane.next_unit
      assert_nil lane.next_unit
    end

    test "without a committed offset the first record sets the lane's position" do
      lane = lane()
      admit(lane, batch(7..8, from: -1001))
      assert_equal [7, 9], [lane.committable_offset, lane.ledger.tail]
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
  end
end
