# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/consumer/claim"
require "penstock/deadline"
require "penstock/runtime/loop/work/orphaned_units"
require "penstock/runtime/loop/group/stopping"
require "support/virtual_clock"

module Penstock
  class StoppingTest < TestCase
    include TestSupport::Lanes

    # All parts that a stop uses, in one: nothing runs, hooks and commits are done at once.
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
      def shorten_deadline(_deadline_ms) = nil
      def pending? = false
      def request_commit(*, **) = nil
      def settled_or_doubtful?(_lanes) = @done
      def abandon(lanes) = @abandoned = lanes
    end

    def setup
      @clock = VirtualClock.new
      @lane = lane(committed: 0)
      admit(@lane, batch(0..9, from: 0))
      @around = Around.new(@clock, [@lane])
      @stopping = Runtime::Stopping.new(@around, committer: @around, hooks: @around, rebalances: @around)
    end

    # A unit that ran to its end, whose transaction may or may not have been committed.
    def put_off
      unit = @lane.next_unit
      claim = Consumer::Claim.new(lane: @lane, incarnation: 0, unit: unit, marks: [], metadata: nil, producer: nil,
        transaction: nil)
      claim.outcome = Processing::Outcome.new(unit: unit)
      @lane.offset_slot.add(claim)
      @lane.offset_slot.grant(claim)
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

    test "without running units a stop is done at once" do
      stop
      assert_equal [true, []], [@stopping.done?, @stopping.unfinished]
    end

    test "offsets that aren't acknowledged when time runs out are reported" do
      @around.done = false
      stop
      assert_equal [:committing, nil], [@stopping.stage, @around.abandoned]
      go_on
      assert_equal [[@lane], []], [@around.abandoned, @stopping.unfinished]
    end

    test "offsets that were acknowledged in time aren't reported" do
      stop
      assert_equal [true, nil], [@stopping.done?, @around.abandoned]
    end

    test "a unit whose outcome waits for its transaction's end is named, and isn't finished when time runs out" do
      unit = put_off
      stop
      assert_equal :draining, @stopping.stage
      go_on
      assert_equal [unit], @stopping.unfinished
      assert_equal [["app.interrupting", {jobs: [unit]}]], @around.events.first(1)
    end

    test "such a unit on a partition that was revoked meanwhile is named too" do
      unit = put_off
      @around.orphaned_units.add(@lane)
      @around.all.clear
      stop
      go_on
      assert_equal [unit], @stopping.unfinished
    end
  end
end
