# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/consumer/claim"
require "penstock/deadline"
require "penstock/runtime/orphaned_units"
require "penstock/runtime/stopping"
require "support/virtual_clock"

module Penstock
  class StoppingTest < TestCase
    include TestSupport::Lanes

    # Everything that a stop asks, in one: nothing runs, hooks and commits are done at once.
    class Around
      attr_accessor :feeding, :done
      attr_reader :all, :orphaned_units, :events, :abandoned

      def initialize(clock, lanes)
        @clock = clock
        @all = lanes
        @orphaned_units = Runtime::OrphanedUnits.new
        @events = []
        @done = true
      end

      def now = @clock.monotonic_ms
      def pool = self
      def running = []
      def interrupt(_lanes) = []
      def current?(lane) = @all.include?(lane)
      def call_back(_lane) = nil
      def emit(name, payload) = @events << [name, payload]
      def run(*) = nil
      def hurry(_deadline_ms) = nil
      def pending? = false
      def want(*, **) = nil
      def done_with?(_lanes) = @done
      def abandon(lanes) = @abandoned = lanes
    end

    def setup
      @clock = VirtualClock.new
      @lane = lane(committed: 0)
      admit(@lane, batch(0..9, from: 0))
      @around = Around.new(@clock, [@lane])
      @stopping = Runtime::Stopping.new(@around, committer: @around, hooks: @around, rebalances: @around)
    end

    # A unit that ran to its end, of whose transaction nobody knows whether it was committed.
    def put_off
      unit = @lane.next_unit
      claim = Consumer::Claim.new(lane: @lane, incarnation: 0, unit: unit, marks: [], metadata: nil, producer: nil,
        transaction: nil)
      claim.outcome = Processing::Outcome.new(unit: unit)
      @lane.offset_slot.ask(claim)
      @lane.offset_slot.open(claim)
      unit
    end

    def stop
      @stopping.stop(Deadline.in(10_000, clock: @clock))
      @stopping.run
    end

    def go_on
      until @stopping.done?
        @clock.advance([@stopping.next_due - @clock.monotonic_ms, 1].max)
        @stopping.run
      end
    end

    test "with nothing out a stop is done at once" do
      stop
      assert_equal [true, []], [@stopping.done?, @stopping.unfinished]
    end

    test "offsets that nobody has acknowledged when the time is over are told" do
      @around.done = false
      stop
      assert_equal [:committing, nil], [@stopping.stage, @around.abandoned]
      go_on
      assert_equal [[@lane], []], [@around.abandoned, @stopping.unfinished]
    end

    test "what was acknowledged in time is told by nobody" do
      stop
      assert_equal [true, nil], [@stopping.done?, @around.abandoned]
    end

    test "a unit whose outcome waits for its transaction's end is named, and isn't finished when the time is over" do
      unit = put_off
      stop
      assert_equal :draining, @stopping.stage
      go_on
      assert_equal [unit], @stopping.unfinished
      assert_equal [["app.interrupting", {jobs: [unit]}]], @around.events.first(1)
    end

    test "one on a partition that was given up meanwhile is named too" do
      unit = put_off
      @around.orphaned_units.add(@lane)
      @around.all.clear
      stop
      go_on
      assert_equal [unit], @stopping.unfinished
    end
  end
end
