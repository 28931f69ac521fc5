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
  end
end
