# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/consumer/claim"
require "penstock/processing/transaction_marks"

module Penstock
  class TransactionMarksTest < TestCase
    include TestSupport::Lanes

    def marks(lane, *marks) = Processing::TransactionMarks.new(lane, marks)
    Parallel = Struct.new(:by, :max_partitions, :partitioner, :consistent?, :offset_metadata_strategy)

    # @return [Lane] with six records of one byte each, of two keys in turn
    def keyed_lane
      rows = Array.new(6) { |offset| Messages::MemoryBatch::Row.new(offset: offset, payload: "p", key: %w[a b][offset % 2]) }
      lane(route(features: {parallel: Parallel.new(:key, 4, nil, false)}), committed: 0)
        .tap { |lane| admit(lane, Messages::MemoryBatch.new("orders", 0, rows, from: 0)) }
    end

    def bytes(lane) = lane.division.to_h[:bytes]

    def exact(message) = [Consumer::Claim::Exact.new(message), message.offset]

    test "for a whole partition a mark is a watermark; it is applied to a copy until the transaction is committed" do
      one = lane(committed: 0)
      admit(one, batch(0..9, from: 0))
      assert_equal [5, 0], [marks(one, [nil, 2], [nil, 4]).ledger.committable, one.committable_offset]
      version = one.ledger.version
      marks(one, [nil, 4]).commit(5, version)
      assert_equal [5, false], [one.committable_offset, one.commit_state.uncommitted?]
    end

    test "records completed meanwhile remain to be committed" do
      one = lane(committed: 0)
      admit(one, batch(0..9, from: 0))
      version = one.ledger.version
      one.drop([7])
      marks(one, [nil, 4]).commit(5, version)
      assert_equal [5, true, [[7, 8]]], [one.committable_offset, one.commit_state.uncommitted?, one.ledger.ranges]
    end

    test "a letter's mark covers only its record" do
      one = lane(committed: 0)
      admit(one, batch(0..9, from: 0))
      unit = one.next_unit
      marks = marks(one, exact(unit.messages.from_offset(3).first))
      assert_equal [[3, 4]], marks.ledger.ranges
      marks.commit(0, one.ledger.version)
      assert_equal [0, [[3, 4]], false], [one.committable_offset, one.ledger.ranges, one.commit_state.uncommitted?]
    end

    test "by key, a transaction that is committed after its call has ended completes what it completes during the call" do
      [true, false].each do |ended|
        one = keyed_lane
        unit, each = one.next_unit, bytes(one) / 6
        one.returned(unit) if ended
        marks = marks(one, [unit.marks, 2])
        assert_equal [1, [[2, 3]]], [marks.ledger.committable, marks.ledger.ranges]
        marks.commit(1, one.ledger.version)
        assert_equal [1, [[2, 3]], 4 * each], [one.committable_offset, one.ledger.ranges, bytes(one)],
          "the call has ended: #{ended}"
        one.returned(unit) unless ended
        one.complete(unit.messages)
        assert_equal 3 * each, bytes(one)
      end
    end

    test "by key, a transaction that is committed while its records wait to run again frees their bytes, and they don't run" do
      one = keyed_lane
      unit, all = one.next_unit, bytes(one)
      marks = marks(one, [unit.marks, 2])
      settle(one, unit, error: RuntimeError.new("no"), blamed: 0)
      marks.commit(1, one.ledger.version)
      assert_equal [[[2, 3]], all / 6 * 4], [one.ledger.ranges, bytes(one)]
      one.division.expire(100_000)
      assert_equal [[4], [1, 3, 5]], units_ahead(one).map { |each| offsets_of(each) }.sort_by(&:size)
    end
  end
end
