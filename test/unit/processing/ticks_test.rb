# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/processing/ticks"
require "penstock/routing/features/parallel"
require "penstock/routing/features/periodic_job"

module Penstock
  class TicksTest < TestCase
    include TestSupport::Lanes

    def ticks(lane, during_pause: true, during_retry: false)
      Processing::Ticks.new(lane, Routing::PeriodicJob.new(1_000, during_pause, during_retry, false), 0)
    end

    # @return [Array<Integer>] times at which it ticked
    def ticked(ticks, from: 0, to: 5_000, step: 250)
      (from..to).step(step).select { |now| ticks.call(now) }
    end

    def running(lane)
      admit(lane, batch(0..2, from: 0))
      lane.next_unit
    end

    test "[periodic tick] it ticks without data, each interval" do
      ticks = ticks(lane(committed: 0))

      assert_equal 1_000, ticks.next_due
      assert_equal [1_000, 2_000, 3_000], ticked(ticks, to: 3_500)
      assert_equal 4_000, ticks.next_due
    end

    test "[periodic tick] it doesn't tick during a retry, unless the route enables it" do
      [false, true].each do |during_retry|
        lane = lane(committed: 0)
        settle(lane, running(lane), error: RuntimeError.new("no"), blamed: 0)
        ticks = ticks(lane, during_retry: during_retry)

        assert_equal during_retry ? [1_000] : [], ticked(ticks, to: 1_900)
        assert_equal [2_000, nil][during_retry ? 0 : 1].inspect, ticks.next_due.inspect
      end
    end

    test "during an outage it ticks as soon as no record of the partition is left to be tried" do
      lane = lane(committed: 0)
      admit(lane, batch(0..0, from: 0))
      lane.holds.add(:breaker)
      ticks = ticks(lane)
      assert_equal [[], nil], [ticked(ticks, to: 1_000), ticks.next_due]
      probe = lane.probe
      assert_empty ticked(ticks, from: 1_250, to: 2_000)
      settle(lane, probe)

      assert_equal [3_250], ticked(ticks, from: 2_250, to: 4_000)
    end

    test "during an outage a partition that its user has paused ticks also if it has records: they can't be tried" do
      lane = lane(committed: 0)
      admit(lane, batch(0..0, from: 0))
      lane.holds.add(:breaker)
      lane.holds.add(:user)

      assert_equal [[1_000], false], [ticked(ticks(lane), to: 1_900), lane.probing.possible?]
    end

    # Without `periodic` in the route.
    def wishing(lane) = Processing::Ticks.new(lane, nil, 0)

    test "[tick_in] a wish is fulfilled once, at its time, and of several the earliest counts" do
      lane = lane(committed: 0)
      ticks = wishing(lane)
      assert_nil ticks.next_due
      assert_equal [true, true, false], [700, 500, 600].map { |at| lane.tick_wish.add(at) }
      assert_equal [500, false], [ticks.next_due, ticks.over?]
      assert_equal [500], ticked(ticks)
      assert_equal [nil, true], [ticks.next_due, ticks.over?]
    end

    test "[tick_in] a busy lane hands out nothing new when the time has come, and ticks after its running unit" do
      lane = lane(route(max_messages: 1), committed: 0)
      admit(lane, batch(0..5, from: 0))
      unit = lane.next_unit
      ticks = wishing(lane)
      lane.tick_wish.add(500)
      assert_equal [500, false, true], [ticks.next_due, ticks.call(400), lane.waiting?]
      assert_equal [false, false, nil], [ticks.call(500), lane.waiting?, ticks.next_due]
      settle(lane, unit)
      assert_equal [:wished, true], [ticks.call(501), lane.waiting?]
    end

    test "[tick_in] a wish waits for the end of a retry, without a hold of its own, and never runs after the loss" do
      lane = lane(committed: 0)
      settle(lane, running(lane), error: RuntimeError.new("no"), blamed: 0)
      ticks = wishing(lane)
      lane.tick_wish.add(100)
      assert_equal [[], nil], [ticked(ticks, to: 1_000), ticks.next_due]
      lane.holds.expire(9_000)
      lane.next_unit.then { |unit| settle(lane, unit) }
      assert_equal [9_250], ticked(ticks, from: 9_000, to: 9_900), "held at first, because more records wait"
      lane.tick_wish.add(9_100)
      lane.end_ownership!
      assert_empty ticked(ticks, from: 9_100)
    end

    test "[tick_in] a lane that waits for a tick isn't held while a redelivery has to end first" do
      lane = lane(route(max_messages: 1), committed: 0)
      admit(lane, batch(0..5, from: 0))
      unit = lane.next_unit
      ticks = wishing(lane)
      lane.tick_wish.add(0)
      assert_equal [false, true], [ticks.call(0), lane.holds.include?(:tick)]
      settle(lane, unit)
      lane.holds.add(:redelivery)
      assert_equal [false, false], [ticks.call(1), lane.holds.include?(:tick)]
      lane.holds.release(:redelivery)
      assert_equal [false, :wished], [ticks.call(2), ticks.call(3)]
    end

    test "[tick_in] during an outage a wish waits only while a record can be tried" do
      lane = lane(committed: 0)
      lane.holds.add(:breaker)
      ticks = wishing(lane)
      admit(lane, batch(0..0, from: 0))
      lane.tick_wish.add(100)
      assert_equal [false, false, true], [ticks.call(100), lane.holds.include?(:tick), lane.probing.possible?]
      unit = lane.probe
      assert_equal false, ticks.call(200)
      settle(lane, unit)
      assert_equal :wished, ticks.call(300)
    end

    test "[tick_in] a wished tick that is called back comes again" do
      lane = lane(committed: 0)
      ticks = wishing(lane)
      lane.tick_wish.add(100)
      assert_equal :wished, ticks.call(100)
      unit = lane.action_unit(:tick, Messages.new(batch([])))
      unit.wished = true
      assert_equal [false, false], [ticks.call(200), ticks.over?]
      lane.put_back([unit])
      assert_equal :wished, ticks.call(201)
    end

    test "[tick_in] with periodic, a wish comes in addition, and begins the interval again" do
      lane = lane(committed: 0)
      ticks = ticks(lane)
      lane.tick_wish.add(500)
      assert_equal [500, 1_500, 2_500], ticked(ticks, to: 2_500)
    end

    test "[periodic at_once] the first tick is due when the partition is open, also if records have come first" do
      lane = lane(committed: 0)
      lane.holds.add(:opening)
      ticks = Processing::Ticks.new(lane, Routing::PeriodicJob.new(1_000, true, false, true), 0)
      assert_equal [false, nil], [ticks.call(0), ticks.next_due]
      lane.holds.release(:opening)
      unit = running(lane)
      assert_equal false, ticks.call(10)
      settle(lane, unit)
      assert_equal [:wished, 1_020], [ticks.call(20), ticks.next_due]
    end

    test "during a pause of the user's it ticks, unless the route disables it" do
      [true, false].each do |during_pause|
        lane = lane(committed: 0)
        lane.holds.add(:user)
        ticks = ticks(lane, during_pause: during_pause)

        assert_equal during_pause ? [1_000, 2_000] : [], ticked(ticks, to: 2_000)
        lane.holds.release(:user)
        assert_equal 3_000, ticked(ticks, from: 3_000, to: 3_000).last
      end
    end

    test "records that aren't due count as a pause too" do
      lane = lane(committed: 0)
      lane.intake.wait(:delay, 10_000)

      assert_empty ticked(ticks(lane, during_pause: false))
    end

    test "[periodic + LRJ] it doesn't tick while a job runs, and an interval passes after its end" do
      lane = lane(committed: 0)
      unit = running(lane)
      ticks = ticks(lane)
      assert_empty ticked(ticks, to: 10_000)
      assert_nil ticks.next_due
      settle(lane, unit)

      assert_equal [11_250], ticked(ticks, from: 10_250, to: 12_000)
    end

    test "it doesn't tick before the partition is open, nor while it is being revoked" do
      opening = lane(committed: 0).tap { |lane| lane.holds.add(:opening) }
      leaving = lane(committed: 0).tap(&:leave!)
      lost = lane(committed: 0).tap(&:end_ownership!)

      [opening, leaving, lost].each { |lane| assert_empty ticked(ticks(lane, during_retry: true)) }
    end

    test "a lane whose records wait for a worker isn't ticked" do
      lane = lane(committed: 0)
      admit(lane, batch(0..2, from: 0))

      assert_empty ticked(ticks(lane))
    end

    test "where keys run in parallel nothing else runs during a tick, and a key that waits for its retry doesn't prevent it" do
      lane = lane(route(features: {parallel: Routing::Parallel.new(:key, 4, nil, :rolling, :current)}), committed: 0)
      unit = running(lane)
      settle(lane, unit, error: RuntimeError.new("no"), blamed: unit.messages.first_offset)
      2.times { settle(lane, lane.next_unit) }
      assert_equal [1_250], ticked(ticks(lane), from: 1_250, to: 1_250)

      tick = lane.action_unit(:tick, Messages.new(batch([])))
      lane.division.release(unit.key)
      refute lane.waiting?
      lane.put_back([tick])
      assert lane.waiting?
    end
  end
end
