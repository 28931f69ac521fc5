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

    def lane_of(keys, features, max_messages, **options)
      lane(route(features: features, max_messages: max_messages, **options), committed: 0).tap { |lane| admit(lane, batch(keys)) }
    end

    def batch(keys, from: 0)
      rows = keys.each.with_index(from).map { |key, offset| Messages::MemoryBatch::Row.new(offset: offset, payload: "p", key: key) }
      Messages::MemoryBatch.new("orders", 0, rows, from: from)
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

    [false, true].each do |manual|
      test "keys retried all the time leave room for records that never ran, which run in turn#{" (manual offsets)" if manual}" do
        features = {parallel: Parallel.new(:key, 2, nil, false), window: Routing::Window.new(20, nil)}
        lane = lane_of(Array.new(16) { |index| "k#{index}" }, features, 10, manual: manual)
        lane.takes.ready = true
        16.times { settle(lane, lane.next_unit, error: RuntimeError.new("no"), now: 0) }
        lane.division.expire(2_000)
        retried = lane.next_unit
        assert_equal [2, 4, nil], [retried.attempt, lane.wanted, lane.division.full(lane)]
        admit(lane, batch(Array.new(4) { |index| "fresh #{index}" }, from: 16))
        assert_equal 0, lane.wanted
        lane.put_back([retried])

        ran = Array.new(20) { lane.next_unit.tap { |unit| settle(lane, unit) }.messages.first_offset }
        assert_equal [*1..15, *16..19, 0], ran
      end
    end

    test "as many units are handed out as may run, and those in advance" do
      lane = lane_of(Array.new(20) { |index| "k#{index}" }, {parallel: Parallel.new(:key, 4, nil, false)}, 10)
      assert_equal 4 + 6, Array.new(20) { lane.next_unit }.compact.size
    end

    test "records that a unit gave back before it began never ran" do
      lane = lane_of(%w[a a b b], {parallel: Parallel.new(:key, 2, nil, false), window: Routing::Window.new(4, nil)}, 2)
      units = Array.new(2) { lane.next_unit }
      assert_equal :records, lane.division.full(lane)
      units.each { |unit| unit.shorten(1) }
      lane.put_back(units)

      assert_nil lane.division.full(lane), "records are ready"
    end

    test "keys that pause again and again leave room for records that never ran" do
      features = {parallel: Parallel.new(:key, 2, nil, false), window: Routing::Window.new(20, nil)}
      lane = lane_of(Array.new(16) { |index| "k#{index}" }, features, 10)
      lane.takes.ready = true
      16.times do
        settle(lane, lane.next_unit, flow: Consumer::Flow::Pause.new(nil, 1_000), now: 0)
        lane.holds.release(:user)
      end

      assert_equal [16, 4], [lane.division.to_h[:ready], lane.wanted]
    end

    test "records that fail fill the window, however many there are: their attempts take no room from others" do
      features = {parallel: Parallel.new(:key, 2, nil, false), window: Routing::Window.new(3_000, nil)}
      lane = lane_of(Array.new(1_100) { |index| "k#{index}" }, features, 10)
      lane.takes.ready = true
      while (unit = lane.next_unit)
        settle(lane, unit, error: RuntimeError.new("no"), now: 0)
      end

      assert_equal [1_100, 1_900], [lane.attempts.size, lane.wanted]
    end

    test "what is complete beyond the offset and may outgrow a commit is reported as the limit" do
      features = {parallel: Parallel.new(:key, 4, nil, false), window: Routing::Window.new(2_000, nil)}
      lane = lane_of(Array.new(1_000) { |index| "k#{index}" }, features, 10)
      units = Array.new(6) { lane.next_unit }
      [1, 3, 5].each { |index| settle(lane, units[index]) }
      lane.division.park("k0", :retry, nil)
      lane.ledger.budget = 60

      assert_equal [nil, 0], [lane.division.full(lane), lane.wanted], "keys are ready"
      while (unit = lane.next_unit)
        settle(lane, unit, error: RuntimeError.new("no"), now: 0)
      end
      assert_equal :metadata, lane.division.full(lane)
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
      lane.division.expire(1 << 40)
      assert_equal :records, lane.division.full(lane), "retried keys are ready"
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
