# frozen_string_literal: true

require "test_helper"
require "penstock/messages/memory_batch"
require "penstock/reading/part"

module Penstock
  # Which records of a batch belong to a range, and when it is finished.
  class ReadingPartTest < TestCase
    def part(from, to) = Reading::Part.new("orders", 0, from, to)

    def batch(*offsets, eof: nil)
      Messages::MemoryBatch.new("orders", 0, offsets.map { |offset| Messages::MemoryBatch::Row.new(offset: offset) }, eof: eof)
    end

    test "records before and after the range are left out" do
      assert_equal [1, 2], part(5, 7).accept(batch(4, 5, 6, 7))
      assert_equal [0, 3], part(5, 9).accept(batch(5, 6, 7))
      assert_nil part(5, 7).accept(batch(1, 2))
      assert_nil part(5, 7).accept(batch(8, 9))
    end

    test "it is finished with a record at the end or after it, and with the last record before it" do
      [[4, 5, 6], [5, 7], [9]].each do |offsets|
        one = part(5, 7)
        one.accept(batch(*offsets))
        assert_predicate one, :finished?, offsets.inspect
      end
      refute_predicate part(5, 7).tap { |one| one.accept(batch(5)) }, :finished?
    end

    test "it is finished when the log ends at its end, though the last record before it doesn't exist" do
      one = part(5, 9)
      one.accept(batch(5, eof: 9))

      assert_predicate one, :finished?
      assert_predicate part(5, 9).tap { |other| other.accept(batch(eof: 9)) }, :finished?
      assert_predicate part(5, 9).tap { |other| other.accept(batch(eof: 12)) }, :finished?
    end

    test "a log that ends earlier is short, and the part isn't finished" do
      one = part(5, 9)
      one.accept(batch(5, eof: 6))

      assert one.short?(6)
      refute one.short?(nil)
      refute_predicate one, :finished?
    end

    test "a range without offsets is finished from the beginning" do
      assert_predicate part(5, 5), :finished?
      assert_predicate part(7, 5), :finished?
      refute_predicate part(5, nil), :finished?
    end

    test "a log that goes backwards repeats nothing in a range with an end; without an end its records are new ones" do
      bounded, endless = part(5, 20), part(5, nil)
      [bounded, endless].each { |one| one.accept(batch(5, 6, 7)) }

      assert_nil bounded.accept(batch(0, 1, 6))
      assert_equal [3, 1], bounded.accept(batch(1, 6, 7, 8))
      assert_equal [0, 3], endless.accept(batch(0, 1, 6))
    end

    test "a range without an end begins at its offset, also if the log isn't that long yet" do
      one = part(5, nil)

      assert_nil one.accept(batch(2, 3, eof: 4))
      refute one.short?(4)
      assert_equal [1, 1], one.accept(batch(4, 5))
    end
  end
end
