# frozen_string_literal: true

require "test_helper"
require "penstock/processing/recording/ring"

module Penstock
  class RecordingRingTest < TestCase
    Ring = Processing::Recording::Ring

    test "entries are returned in order, without trailing nils" do
      ring = Ring.new(4)
      ring.write(:take, 10, 1, nil, 3)
      ring.write(:lost, 11)
      assert_equal [[:take, 10, 1, nil, 3], [:lost, 11]], ring.to_a
    end

    test "the oldest are overwritten; the very oldest of a full ring is left out, because it may be being overwritten" do
      ring = Ring.new(4)
      7.times { |number| ring.write(:take, number, number) }
      assert_equal [4, 5, 6], ring.to_a.map(&:last)
      assert_equal 7, ring.count
    end

    test "an entry that is shorter than the one it replaces leaves nothing of it" do
      ring = Ring.new(2)
      ring.write(:take, 1, 1, 2, 3, 4, 5, 6, 7)
      ring.write(:take, 2, 1)
      ring.write(:lost, 3)
      assert_equal [[:lost, 3]], ring.to_a.last(1)
    end

    test "a full ring takes no more memory, and writing allocates nothing" do
      ring = Ring.new
      600.times { |number| ring.write(:take, number, number) }
      before = GC.stat(:total_allocated_objects)
      1_000.times { |number| ring.write(:take, number, number) }
      assert_operator GC.stat(:total_allocated_objects) - before, :<, 10
    end
  end
end
