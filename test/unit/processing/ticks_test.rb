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
      Processing::Ticks.new(lane, Routing::PeriodicJob.new(1_000, during_pause, during_retry), 0)
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
