# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/routing/features/parallel"

module Penstock
  class ParkingTest < TestCase
    include TestSupport::Lanes

    def keyed_batch(keys, from: 0)
      rows = keys.each_with_index.map do |key, index|
        Messages::MemoryBatch::Row.new(offset: from + index, payload: "p", key: key, leader_epoch: 0)
      end
      Messages::MemoryBatch.new("orders", 0, rows, from: from)
    end

    def filled(keys)
      parallel = Routing::Parallel.new(:key, 4, nil, :rolling, :current)
      lane(route(features: {parallel: parallel}), committed: 0).tap { |lane| admit(lane, keyed_batch(keys)) }
    end

    test "a record that a former owner was retrying doesn't shorten another wait of its key, and waits its full time" do
      [[0, 100], [200, 4_200]].each do |failed_at, next_attempt|
        lane = filled(%w[a])
        lane.retry_adopted({0 => 1, 1 => 1}, 150)
        settle(lane, lane.next_unit, error: RuntimeError.new, now: failed_at)
        assert_operator lane.division.next_due, :>, 150
        admit(lane, keyed_batch(%w[a], from: 1))
        lane.division.expire(2_000)
        assert_nil lane.next_unit
        lane.division.expire(next_attempt + 4_000)
        assert_equal [0], offsets_of(lane.next_unit)
      end
    end

    test "a key waits as long as a record of it that a former owner was retrying, if its own wait is shorter" do
      lane = filled(%w[a])
      lane.retry_adopted({1 => 1}, 9_000)
      settle(lane, lane.next_unit, error: RuntimeError.new, now: 0)
      assert_equal 2_000, lane.division.next_due
      admit(lane, keyed_batch(%w[a], from: 1))
      lane.division.expire(8_999)
      assert_nil lane.next_unit
      lane.division.expire(9_000)
      assert_equal [0], offsets_of(lane.next_unit)
    end

    test "the failure of a record before it doesn't shorten the wait of a record that a former owner was retrying" do
      lane = filled(%w[a])
      lane.retry_adopted({1 => 4}, 30_000)
      first = lane.next_unit
      admit(lane, keyed_batch(%w[a], from: 1))
      settle(lane, first, error: RuntimeError.new, now: 0)
      assert_equal 30_000, lane.division.next_due
      lane.division.expire(29_999)
      refute lane.waiting?
      lane.division.expire(30_000)
      assert_equal [[0], [1]], Array.new(2) { lane.next_unit.tap { |unit| settle(lane, unit) } }.map { |unit| offsets_of(unit) }
    end

    test "a key whose dead letter is acknowledged waits for a record of it that a former owner was retrying" do
      [true, false].each do |parked_first|
        lane = filled(%w[a])
        lane.retry_adopted({1 => 4}, 30_000)
        first = lane.next_unit
        second = -> { admit(lane, keyed_batch(%w[a], from: 1)) }
        second.call if parked_first
        lane.returned(first)
        lane.division.park("a", :dead_letter, nil)
        second.call unless parked_first
        lane.division.expire(1_000_000)
        refute lane.waiting?, "the letter isn't acknowledged"
        assert_nil lane.division.next_due
        lane.division.release("a")
        assert_equal [false, 30_000], [lane.waiting?, lane.division.next_due]
        lane.division.expire(30_000)
        assert_equal [1], offsets_of(lane.next_unit)
      end
    end

    test "the earliest end is known when waits are extended, held, released and dropped" do
      parking = Processing::Division::Parking.new
      runs = %w[a b].map { |key| Processing::Division::KeyRun.new(key) }
      [[0, 10], [1, 30], [0, 20], [0, 15]].each { |index, at| parking.add(runs[index], at) }
      assert_equal [20, 2], [parking.next_due, parking.size]
      parking.add(runs[0], nil)
      assert_equal [30, 2, true], [parking.next_due, parking.size, parking.held?(runs[0])]
      refute parking.release(runs[0])
      assert_equal 20, parking.next_due
      assert parking.release(runs[0])
      assert_equal [30, 1], [parking.next_due, parking.size]
      parking.add(runs[1], nil)
      parking.clear
      assert_equal [nil, 0], [parking.next_due, parking.size]
    end
  end
end
