# frozen_string_literal: true

require "test_helper"
require "objspace"
require "penstock/native/ledger"

module Penstock
  module Native
    # The Ruby side of the ledger; its results are compared with a plain one in ledger_property_test.rb.
    class LedgerTest < TestCase
      Records = Struct.new(:offsets) do
        def size = offsets.size

        def offset(index) = offsets[index]
      end

      test "a take that doesn't continue the one before is refused with both offsets named, and changes nothing" do
        ledger = Ledger.new(5)
        error = assert_raises(LaneDiscontinuity) { ledger.admit(6, 9) }

        assert_match(/6\.\.\.9 don't follow offset 5/, error.message)
        assert_equal [5, 5, 0], [ledger.base, ledger.tail, ledger.incomplete]
      end

      test "what is incomplete below the log's end leaves out gaps, completed records, and those a former owner completed" do
        assert_nil Ledger.new.incomplete_below(9)
        ledger = Ledger.new(0)
        assert_equal 9, ledger.incomplete_below(9)
        ledger.restore([[3, 5], [7, 9]])
        assert_equal 8, ledger.incomplete_below(12)
        ledger.admit(0, 4, [0, 2, 3])
        assert_equal 7, ledger.incomplete_below(12), "offset 1 has no record"
        ledger.complete(2)
        assert_equal 6, ledger.incomplete_below(12)
        assert_equal 1, ledger.incomplete_below(2), "the end that is known is older than the last take"
      end

      test "a batch whose reader raises leaves the ledger as it was" do
        ledger = Ledger.new(0)
        broken = Struct.new(:size) { def offset(_index) = raise("gone") }.new(2)

        assert_raises(RuntimeError) { ledger.admit_batch(0, 10, broken) }
        assert_equal [0, 0], [ledger.tail, ledger.incomplete]
      end

      test "a batch that changes the ledger while it is read can't break it" do
        ledger = Ledger.new(0)
        meddler = Struct.new(:ledger) do
          def size = 2

          def offset(index) = (ledger.admit(0, 5) if index.zero?) || (index + 3)
        end

        assert_raises(LaneDiscontinuity) { ledger.admit_batch(0, 10, meddler.new(ledger)) }
        assert_equal [0, 1, 2, 3, 4], ledger.incomplete_offsets
      end

      test "a batch without gaps isn't asked for its offsets" do
        ledger = Ledger.new(0)
        ledger.admit_batch(0, 3, Struct.new(:size).new(3))

        assert_equal [0, 1, 2], ledger.incomplete_offsets
      end

      test "a record that an earlier owner completed is reported by its position" do
        ledger = Ledger.new(10)
        ledger.restore([[12, 14], [20, 30]])

        assert_nil ledger.admit(10, 12)
        assert_equal [0, 1], ledger.admit(12, 15)
        assert_equal [1], ledger.admit_batch(15, 22, Records.new([16, 21]))
        assert_equal [[12, 14], [17, 30]], ledger.ranges
      end

      test "when everything before it is complete, a restored run may be committed to its end" do
        ledger = Ledger.new(10)
        ledger.restore([[11, 14], [20, 30]])
        ledger.admit(10, 11)
        ledger.complete(10)

        assert_equal [11, 14, [[20, 30]]], [ledger.base, ledger.committable, ledger.ranges]
      end

      test "the ledger reports its memory to Ruby, and releases it" do
        ledger = Ledger.new(0)
        ledger.admit(0, 10_000_000, (0...10_000).map { |index| index * 1_000 })
        full = ObjectSpace.memsize_of(ledger)
        ledger.complete_through(10_000_000)

        assert_operator full, :>, 200_000
        assert_operator ObjectSpace.memsize_of(ledger), :<, 5_000
      end

      test "a copy has the same facts, and changes of one don't affect the other" do
        ledger = Ledger.new(10)
        ledger.restore([[40, 45]])
        ledger.admit(10, 30, [10, 12, 15, 20, 29])
        ledger.complete(15)
        ledger.budget = 100
        copy = ledger.dup
        said = ->(one) { [one.base, one.tail, one.incomplete, one.incomplete_offsets, one.ranges, one.budget] }
        before = said.call(ledger)

        assert_equal before, said.call(copy)
        copy.complete_through(20)
        copy.admit(30, 300, (30...300).to_a)
        assert_equal [20, 300], [copy.base, copy.tail]
        assert_equal before, said.call(ledger)
        ledger.reset(5)
        assert_equal 20, copy.base
        assert_nil Ledger.new.dup.base
      end

      test "a frozen ledger can be read and not changed" do
        ledger = Ledger.new(0).freeze

        assert_equal 0, ledger.base
        [[:admit, 0, 1], [:complete, 0], [:complete_through, 1], [:reset, 1], [:restore, []], [:budget=, 1]].each do |call|
          assert_raises(FrozenError, call.inspect) { ledger.public_send(*call) }
        end
      end

      test "impossible offsets are refused" do
        ledger = Ledger.new(0)
        [[:admit, 0, 5, [3, 3]], [:admit, 0, 5, [5]], [:admit, 0, 5, [-1]], [:reset, -1], [:restore, [[4, 4]]],
          [:restore, [[1, 3], [3, 5]]], [:budget=, -1]].each do |call|
          assert_raises(ArgumentError, call.inspect) { ledger.public_send(*call) }
        end
        assert_raises(RangeError) { ledger.complete(2**64) }
        assert_raises(TypeError) { ledger.complete(nil) }
      end
    end
  end
end
