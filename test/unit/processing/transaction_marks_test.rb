# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/consumer/claim"
require "penstock/processing/transaction_marks"

module Penstock
  class TransactionMarksTest < TestCase
    include TestSupport::Lanes

    def marks(lane, *marks) = Processing::TransactionMarks.new(lane, marks)
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
  end
end
