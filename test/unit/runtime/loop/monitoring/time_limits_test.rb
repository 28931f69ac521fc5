# frozen_string_literal: true

require "test_helper"
require "support/all_active"
require "support/lanes"
require "support/virtual_clock"
require "penstock/runtime/loop/work/orphaned_units"
require "penstock/runtime/loop/monitoring/time_limits"

module Penstock
  class TimeLimitsTest < TestCase
    include TestSupport::Lanes

    Group = Struct.new(:topics)
    Session = Struct.new(:clock, :group, :lanes, :pool, :orphaned_units, :told, keyword_init: true) do
      include TestSupport::AllActive

      def now = clock.monotonic_ms
      def current?(lane) = lanes[lane.key].equal?(lane)
      def emit(name, payload) = told << [name, payload]
    end

    # Workers whose running units the test sets.
    class Pool
      attr_reader :units, :interrupted

      def initialize(units)
        @units = units
        @interrupted = []
      end

      def running = @units.map { |unit| [Thread.current, unit] }
      def interrupt(these, error) = @interrupted << [these, error]
    end

    def setup
      @clock = VirtualClock.new(monotonic_ms: 0)
      @stops = []
    end

    def limits(limit_ms)
      @topic = route(max_messages: 1, features: {time_limit: limit_ms}.compact)
      @lane = lane(@topic, committed: 0)
      admit(@lane, batch(0..4, from: 0))
      @session = Session.new(clock: @clock, group: Group.new([@topic]), lanes: {@lane.key => @lane}, told: [],
        pool: Pool.new([@unit = @lane.next_unit]), orphaned_units: Runtime::OrphanedUnits.new)
      @limits = Runtime::TimeLimits.new(@session, @stops.method(:<<))
    end

    def pass(duration_ms, step = 10)
      (duration_ms / step).times do
        @clock.advance(step)
        @limits.run
      end
    end

    test "a unit beyond its limit is reported with its place, and interrupted, once" do
      limits(1_000)
      pass(1_000)
      assert_empty @session.told
      pass(200)

      assert_equal [[[@unit], TimeLimitExceeded]], @session.pool.interrupted.map { |units, error| [units, error.class] }
      name, payload = @session.told.first
      assert_equal ["consumer.time_limit", 1_000, 0, 0], [name, *payload.values_at(:limit, :first_offset, :last_offset)]
      assert(payload[:backtrace].any? { |line| line.include?(__FILE__) })
      pass(4_000)
      assert_equal [1, 1, []], [@session.told.size, @session.pool.interrupted.size, @stops]
    end

    test "a unit that still runs 5 s later ends the process, and is named" do
      limits(1_000)
      pass(7_000)

      assert_equal [TimeLimitExceeded], @stops.map(&:class)
      assert_includes @stops.first.message, "orders/0 offsets 0..0"
    end

    test "a unit that ends in time, or after it was interrupted, doesn't end the process, and the next has a time of its own" do
      limits(1_000)
      pass(900)
      @session.pool.units.replace([@lane.next_unit])
      pass(900)
      assert_empty @session.told
      pass(300)
      @session.pool.units.clear
      pass(10_000)

      assert_equal [1, []], [@session.told.size, @stops]
    end

    test "the limit also holds for a unit of a revoked partition" do
      limits(1_000)
      @session.lanes.clear
      @session.orphaned_units.add(@lane)
      pass(1_200)

      assert_equal 1, @session.pool.interrupted.size
    end

    test "checks are due only while a unit with a limit runs" do
      limits(nil)
      assert_nil @limits.next_due
      limits(1_000)
      assert_equal 100, @limits.next_due
      @session.pool.units.clear
      settle(@lane, @unit)
      pass(100)
      assert_nil @limits.next_due
    end
  end
end
