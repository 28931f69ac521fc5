# frozen_string_literal: true

require "test_helper"
require "penstock/routing/features/window"
require "support/lanes"

module Penstock
  class ByKeyWindowTest < TestCase
    include TestSupport::Lanes

    Parallel = Struct.new(:by, :max_partitions, :partitioner, :consistent?, :offset_metadata_strategy)

    def division(width, max: 100, window_records: nil)
      Processing::Division::ByKey.new(max: max, width: width, window_records: window_records, window_bytes: 1 << 20)
    end

    def lane_of(keys, features, max_messages)
      rows = keys.each_with_index.map { |key, offset| Messages::MemoryBatch::Row.new(offset: offset, payload: "p", key: key) }
      lane(route(features: features, max_messages: max_messages), committed: 0).tap do |lane|
        admit(lane, Messages::MemoryBatch.new("orders", 0, rows, from: 0))
      end
    end

    test "the window counts all incomplete records, whether waiting, running or parked" do
      features = {parallel: Parallel.new(:key, 4, nil, false), window: Routing::Window.new(20, nil)}
      lane = lane_of(Array.new(15) { |index| "k#{index}" }, features, 10)
      lane.takes.ready = true
      out = Array.new(15) { lane.next_unit }.compact
      assert_equal 5, lane.wanted
      out.first(10).each { |unit| settle(lane, unit) }
      assert_equal 15, lane.wanted
    end

    test "a window that is full of records that run or were parked is reported as such, with its limit" do
      features = {parallel: Parallel.new(:key, 4, nil, false), window: Routing::Window.new(20, nil)}
      lane = lane_of(Array.new(20) { |index| "k#{index}" }, features, 10)
      assert_nil lane.division.full(lane), "records are ready"
      out = []
      while (unit = lane.next_unit)
        out << unit
        settle(lane, out.shift, error: RuntimeError.new("no")) if out.size > 3
      end

      assert_equal :records, lane.division.full(lane)
      lane.holds.add(:user)
      assert_nil lane.division.full(lane), "nothing would be taken anyway"
      lane.holds.release(:user)
      settle(lane, out.shift)
      assert_nil lane.division.full(lane)
    end

    test "a window whose bytes are used up is reported as such" do
      features = {parallel: Parallel.new(:key, 4, nil, false), window: Routing::Window.new(nil, 5)}
      lane = lane_of(%w[a b c], features, 10)
      3.times { settle(lane, lane.next_unit, error: RuntimeError.new("no")) }

      assert_equal :bytes, lane.division.full(lane)
    end

    test "without a setting the window follows the number of workers, within bounds" do
      windows = [5, 25, 100].map { |width| division(width).window_records }
      scaled = division(5).tap { |division| division.width = 30 }.window_records

      assert_equal [1_000, 2_500, 5_000], windows
      assert_equal 3_000, scaled
    end

    test "the window holds two calls of consume at least, and is otherwise the one that is set" do
      set = [50, 20_000].map { |records| division(5, window_records: records).window_records }

      assert_equal [200, 20_000], set
      assert_equal 12_000, division(5, max: 6_000).window_records
    end
  end
end
