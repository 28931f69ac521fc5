# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "support/virtual_clock"
require "penstock/cautious_clock"
require "penstock/runtime/loop/connection_state"
require "penstock/runtime/threads"

module Penstock
  class ConnectionStateTest < TestCase
    include TestSupport::Lanes

    Parallel = Struct.new(:by, :max_partitions, :partitioner, :consistent?, :offset_metadata_strategy)

    def session(*lanes)
      Runtime::ConnectionState.allocate.tap do |session|
        active = Runtime::ActiveLanes.new(lanes.to_h { |lane| [lane, true] }.compare_by_identity)
        active.add_all
        session.instance_variable_set(:@active, active)
      end
    end

    test "a key's back-off ends in time also while an open breaker waits for a record to probe, not while the user pauses" do
      lane = lane(route(features: {parallel: Parallel.new(:key, 4, nil, false)}), committed: 0)
      admit(lane, batch([0], from: 0))
      unit = lane.next_unit
      settle(lane, unit, error: RuntimeError.new, now: 0)
      lane.holds.add(:breaker)
      assert_equal 2_000, session(lane).next_due
      lane.holds.add(:user)
      assert_nil session(lane).next_due
    end

    test "the end of a key's back-off is recorded also while its lane is held: a replay ends it then, too" do
      lane = lane(route(features: {parallel: Parallel.new(:key, 4, nil, false)}), committed: 0)
      admit(lane, batch([0], from: 0))
      settle(lane, lane.next_unit, error: RuntimeError.new, now: 0)
      lane.holds.add(:user)
      told = []
      lane.recording = Object.new.tap { |track| track.define_singleton_method(:expired) { |now| told << now } }
      [1_999, 2_000, 2_001].each { |now| session(lane).tap { |one| one.define_singleton_method(:now) { now } }.run }
      assert_equal [2_000], told
    end

    Clocks = Struct.new(:clock, :cautious_clock)

    test "the wall clock is read in turns without records too, so that a jump is noticed; not in each of a busy loop" do
      clock = VirtualClock.new
      process = Clocks.new(clock, CautiousClock.start(clock))
      session = session()
      {clock: clock, process: process, wall_clock_at: 0}.each { |name, value| session.instance_variable_set(:"@#{name}", value) }
      trusted = -> { process.cautious_clock.call(clock.monotonic_ms, clock.wall_ms, 10_000) - clock.wall_ms }

      clock.jump_wall(3_600_000)
      11.times { assert_equal clock.advance(1_000).monotonic_ms, session.read_clocks }
      assert_equal 0, trusted.call

      asked = 0
      clock.define_singleton_method(:wall_ms) { asked += 1 and super() }
      1_000.times { clock.advance(1).then { session.read_clocks } }
      assert_equal 2, asked
    end

    # A process whose logger is blocked, as when nobody reads the pipe of its standard output.
    BlockedLog = Struct.new(:open, :written, :threads) do
      def log(level, line) = open.pop && written << [level, line]
    end

    test "a line about a blocked listener doesn't block the loop, even if the listener is blocked in the logger" do
      process = BlockedLog.new(Thread::Queue.new, Thread::Queue.new, Runtime::Threads.new(->(*) { flunk }))
      loop_thread = Thread.new { session.tap { |one| one.instance_variable_set(:@process, process) }.log_aside(4, "blocked") }

      assert loop_thread.join(10), "the loop waits for the logger"
      process.open << true
      assert_equal [4, "blocked"], process.written.pop
    ensure
      loop_thread&.kill
    end
  end
end
