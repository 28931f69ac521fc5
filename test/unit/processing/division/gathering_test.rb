# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "support/virtual_clock"
require "penstock/processing/division/gathering"
require "penstock/routing/features/gather"
require "penstock/routing/features/parallel"

module Penstock
  class GatheringTest < TestCase
    include TestSupport::Lanes

    def setup
      @clock = VirtualClock.new(monotonic_ms: 0)
    end

    def gathering(min: 10, within: 1_000, max: 20, bytes: nil, manual: false, **features)
      topic = route(max_messages: max, manual: manual, features: {batch: Routing::Batch.new(min, within, bytes), **features})
      topic_pipeline(topic, clock: @clock).lane("orders", 0, 1).tap { |lane| lane.adopt(0) }
    end

    def by_key = Routing::Parallel.new(:key, 4, nil, :rolling, :current)

    def come(lane, offsets, key: nil, size: 1)
      rows = offsets.map { |offset| Messages::MemoryBatch::Row.new(offset: offset, payload: "p" * size, key: key) }
      admit(lane, Messages::MemoryBatch.new("orders", 0, rows))
    end

    def pass(lane, duration_ms) = lane.division.expire(@clock.advance(duration_ms).monotonic_ms)

    def units(lane)
      found = []
      while (unit = lane.next_unit)
        found << offsets_of(unit)
        settle(lane, unit)
      end
      found
    end

    test "a gathering takes the place of either kind of division" do
      divisions = [Processing::Division::InOrder, Processing::Division::ByKey]
      only_read_in_tests = %i[calls window_records]
      assert_empty divisions.flat_map { |kind| kind.public_instance_methods(false) } - only_read_in_tests -
        Processing::Division::Gathering.public_instance_methods(false)
    end

    test "gathered records for which the partitioner returned nil are alone, although they have a key" do
      {nil => [[0, 1, 2]], [nil] * 3 => [[0], [1], [2]], [nil, "a", "a"] => [[0], [1, 2]]}.each do |keys, expected|
        lane = gathering(min: 3, parallel: by_key)
        rows = (0..2).map { |offset| Messages::MemoryBatch::Row.new(offset: offset, payload: "p", key: "a") }
        lane.ledger.admit(0, 3, nil)
        lane.admit(Messages.new(Messages::MemoryBatch.new("orders", 0, rows)), keys)
        assert_equal expected, units(lane)
      end
    end

    test "records that arrive in threes form one unit when there are enough" do
      lane = gathering
      (0..8).each_slice(3) { |offsets| come(lane, offsets) }
      assert_empty units(lane)
      come(lane, 9..11)

      assert_equal [(0..11).to_a], units(lane)
      assert_equal 12, lane.committable_offset
    end

    test "[batch bytes] records are released when they have enough bytes, or are enough, whichever comes first" do
      lane = gathering(bytes: 100)
      come(lane, 0..0, size: 60)
      assert_empty units(lane)
      come(lane, 1..1, size: 40)
      assert_equal [[0, 1]], units(lane)
      come(lane, 2..10)
      assert_empty units(lane), "the bytes of those that have gone don't count"
      come(lane, 11..11)
      assert_equal [(2..11).to_a], units(lane)
    end

    test "[batch bytes] without `min` a full call, the bytes, or the time release records; a remainder keeps gathering" do
      lane = gathering(min: nil, bytes: 1_000, max: 4)
      come(lane, 0..2)
      assert_empty units(lane)
      come(lane, 3..5)
      assert_equal [[0, 1, 2, 3]], units(lane)
      come(lane, 6..6, size: 998)
      assert_equal [[4, 5, 6]], units(lane)
      come(lane, 7..7, size: 5_000)
      assert_equal [[7]], units(lane), "one is enough if it is large"
      come(lane, 8..8)
      pass(lane, 1_000)
      assert_equal [[8]], units(lane)
      assert_equal 9, lane.committable_offset
    end

    test "[batch bytes] bytes that have gone don't postpone the release of what came after them" do
      lane = gathering(bytes: 100)
      come(lane, 0..0, size: 100)
      assert_equal [[0]], units(lane)
      come(lane, 1..1)
      pass(lane, 600)
      come(lane, 2..2)
      pass(lane, 400)
      assert_equal [[1, 2]], units(lane)
    end

    test "[batch bytes] bytes that are dropped by a seek or read again don't count" do
      lane = gathering(min: nil, bytes: 100)
      come(lane, 0..0, size: 90)
      lane.reincarnate(0)
      come(lane, 0..0, size: 90)
      assert_empty units(lane)
    end

    test "fewer records than `min` are released when their time has passed, and not before" do
      lane = gathering
      come(lane, 0..2)
      pass(lane, 600)
      come(lane, 3..4)
      pass(lane, 399)

      assert_empty units(lane)
      assert_equal 1_000, lane.division.next_due
      pass(lane, 1)
      assert_equal [(0..4).to_a], units(lane)
      assert_nil lane.division.next_due
    end

    test "while there are too few records more are taken from the source" do
      lane = gathering
      come(lane, 0..2)
      lane.takes.ready = true

      assert_operator lane.wanted, :>, 0
    end

    test "the remainder of full units keeps gathering, unless it is enough by itself" do
      lane = gathering
      come(lane, 0..44)
      assert_equal [(0..19).to_a, (20..39).to_a], units(lane)
      come(lane, 45..49)
      assert_equal [(40..49).to_a], units(lane)
    end

    test "records that failed, or were called back, don't gather again" do
      lane = gathering
      come(lane, 0..9)
      lane.put_back([lane.next_unit])
      settle(lane, unit = lane.next_unit, error: RuntimeError.new("no"), blamed: 1)
      lane.holds.expire(60_000)

      assert_equal 10, unit.messages.size
      assert_equal [[0], [1], (2..9).to_a], units(lane)
    end

    test "by key, the gathered records of one key form one unit" do
      lane = gathering(parallel: by_key)
      9.times { |offset| come(lane, [offset], key: offset.even? ? "a" : "b") }
      assert_empty units(lane)
      come(lane, [9], key: "b")

      assert_equal [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]], units(lane)
      assert_equal 10, lane.committable_offset
    end

    test "after a seek no gathered record is left" do
      lane = gathering
      come(lane, 0..4)
      lane.reincarnate(100)
      pass(lane, 5_000)

      assert_empty units(lane)
      assert_equal [0, nil], [lane.division.size, lane.division.first_offset]
    end
  end
end
