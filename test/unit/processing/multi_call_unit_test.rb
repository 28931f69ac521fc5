# frozen_string_literal: true

require "test_helper"
require "support/lanes"

module Penstock
  # Units of several calls of `consume`, on the loop's side: when they are cut, and how records not begun come back.
  class MultiCallUnitInOrderTest < TestCase
    include TestSupport::Lanes

    def quick_lane(offsets = 0..29, took: 10, **route)
      topic = route(max_messages: 2, **route)
      @topic_pipeline = topic_pipeline(topic)
      @topic_pipeline.lane("orders", 0, 1).tap do |lane|
        lane.adopt(0)
        admit(lane, batch(offsets, from: 0))
        3.times { lane.division.record_time(took) }
      end
    end

    # Settles a unit that has come back, as the loop does.
    def come_back(lane, unit)
      lane.returned(unit)
      unit.requeue_rest
    end

    def handed(unit) = unit.stretch ? [unit.stretch.first_offset, unit.stretch.last_offset] : offsets_of(unit)

    test "quick calls are combined into one unit, as many as the measured time suggests; slow ones run one by one" do
      lane = quick_lane
      unit = lane.next_unit
      assert_equal [[0, 15], [0, 1], 2, 1], [handed(unit), offsets_of(unit), unit.upto, unit.stretch.calls]
      lane.division.record_time(400)
      assert_equal [16, 23], handed(lane.next_unit)
      3.times { lane.division.record_time(400) }
      assert_equal [24, 25], offsets_of(lane.next_unit)
    end

    test "the time of a unit is divided by the number of its calls" do
      lane = quick_lane
      unit = lane.next_unit
      unit.begin_next_call until unit.rest.nil?
      unit.record_time(1_600)
      assert_equal 8, lane.division.calls
      unit.record_time(3_000)
      assert_equal 4, lane.division.calls
    end

    test "no unit has more than a thousand records, and large batches are one call per unit" do
      calls = [600, 300, 100].map do |max|
        topic_pipeline(route(max_messages: max)).lane("orders", 0, 1).division.tap { |division|
          3.times {
            division.record_time(1)
          }
        }.calls
      end
      assert_equal [1, 3, 8], calls
    end

    test "a unit has one call where single records need attention, or a decision is needed between two calls" do
      lane = quick_lane
      lane.attempts.fail(7)
      assert_nil lane.next_unit.stretch
      lane = quick_lane
      lane.division.collapse(5)
      assert_nil lane.next_unit.stretch
      lane = quick_lane
      equip(lane, suspects: Struct.new(:nothing_to_check?, :one_at_a_time?).new(false, false))
      assert_nil lane.next_unit.stretch
      assert_nil quick_lane(manual: true).next_unit.stretch
      assert_nil quick_lane(features: {time_limit: 100}).next_unit.stretch
    end

    test "after records that had to run one by one, calls are combined into one unit again" do
      lane = quick_lane
      lane.division.collapse(1)
      assert_equal [[0], [1], [2, 17]], Array.new(3) { handed(lane.next_unit) }
    end

    test "a unit that never began comes back whole, and in order" do
      lane = quick_lane
      units = [lane.next_unit, lane.next_unit]
      assert_equal [[0, 15], [16, 29]], units.map { |unit| handed(unit) }
      lane.put_back(units)
      assert_equal [30, 0], [lane.division.size, lane.in_flight]
      assert_equal [0, 1], offsets_of(lane.next_unit).first(2)
    end

    test "records not begun come before units called back after them" do
      lane = quick_lane
      first, second = lane.next_unit, lane.next_unit
      first.begin_next_call
      lane.returned(first)
      lane.put_back([second])
      first.requeue_rest
      assert_equal [4, 5], offsets_of(lane.next_unit).first(2)
      assert_equal 4, first.upto
    end

    test "records not begun in an earlier incarnation aren't requeued" do
      lane = quick_lane
      unit = lane.next_unit
      lane.reincarnate(0)
      come_back(lane, unit)
      assert_equal 0, lane.division.size
    end

    test "records that a seek from outside has passed aren't requeued, those after its target are" do
      lane = quick_lane
      unit = lane.next_unit
      lane.complete_through(6)
      come_back(lane, unit)
      assert_equal [6, 7], offsets_of(lane.next_unit).first(2)
      unit = lane.next_unit
      lane.complete_through(30)
      come_back(lane, unit)
      assert_equal 0, lane.division.size
    end

    test "a call back also ends the stretch of the running unit" do
      lane = quick_lane
      unit = lane.next_unit
      refute unit.stretch.finished?
      lane.put_back([])
      assert unit.stretch.finished?
    end

    test "a stretch that has come back isn't kept" do
      lane = quick_lane
      unit = lane.next_unit
      lane.returned(unit)
      lane.put_back([])
      refute unit.stretch.finished?
    end
  end
end
