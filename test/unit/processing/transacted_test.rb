# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/consumer/claim"

module Penstock
  class TransactedTest < TestCase
    include TestSupport::Lanes

    def exact(message) = [Consumer::Claim::Exact.new(message), message.offset]

    test "for a whole partition a mark is a watermark; it is applied to a copy until the transaction is committed" do
      one = lane(committed: 0)
      admit(one, batch(0..9, from: 0))
      assert_equal [5, 0], [one.ledger_with([[nil, 2], [nil, 4]]).committable, one.committable_offset]
      version = one.ledger.version
      one.commit_marks([[nil, 4]], 5, version)
      assert_equal [5, false], [one.committable_offset, one.uncommitted?]
    end

    test "records completed meanwhile remain to be committed" do
      one = lane(committed: 0)
      admit(one, batch(0..9, from: 0))
      version = one.ledger.version
      one.drop([7])
      one.commit_marks([[nil, 4]], 5, version)
      assert_equal [5, true, [[7, 8]]], [one.committable_offset, one.uncommitted?, one.ledger.ranges]
    end

    test "a letter's mark covers only its record" do
      one = lane(committed: 0)
      admit(one, batch(0..9, from: 0))
      unit = one.next_unit
      marks = [exact(unit.messages.from_offset(3).first)]
      assert_equal [[3, 4]], one.ledger_with(marks).ranges
      one.commit_marks(marks, 0, one.ledger.version)
      assert_equal [0, [[3, 4]], false], [one.committable_offset, one.ledger.ranges, one.uncommitted?]
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
