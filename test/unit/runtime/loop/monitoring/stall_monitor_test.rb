# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/runtime/loop/monitoring/stall_monitor"

module Penstock
  class StallMonitorTest < TestCase
    include TestSupport::Lanes

    Parallel = Struct.new(:by, :max_partitions, :partitioner, :consistent?, :offset_metadata_strategy)
    Pool = Struct.new(:units) do
      def running = units.map { |unit| [nil, unit] }
    end
    Session = Struct.new(:now, :lanes, :pool, :told, keyword_init: true) do
      def all = lanes.values
      def current?(lane) = lanes.value?(lane)
      def emit(name, payload) = told << [name, payload[:offset] || payload[:first_offset], payload[:waited_ms]]
    end

    def patience(lane, units, limit_ms: 10_000)
      @session = Session.new(now: 0, lanes: {lane.key => lane}, pool: Pool.new(units), told: [])
      @stall_monitor = Runtime::StallMonitor.new(@session, limit_ms)
    end

    def run_until(time_ms)
      while @session.now < time_ms
        @session.now += 1_000
        @stall_monitor.run
      end
    end

    def keyed(**options) = route(features: {parallel: Parallel.new(:message, 4, nil, false)}, **options)

    test "a unit beyond the limit is reported once, each of several that run side by side" do
      lane = lane(keyed, committed: 0)
      assemble(lane, 0..2)
      patience(lane, [lane.next_unit, lane.next_unit])
      run_until(30_000)

      assert_equal [["consumer.long_running", 0, 10_000], ["consumer.long_running", 1, 10_000]], @session.told
    end

    test "a lane whose records wait for a worker is reported" do
      lane = lane(committed: 0)
      admit(lane, batch(0..2, from: 0))
      patience(lane, [])
      run_until(20_000)

      assert_equal [["partition.starved", nil, 5_000]], @session.told
    end

    test "a lane that has records at every check, and is served in between, isn't reported" do
      lane = lane(committed: 0)
      assemble(lane, 0..2)
      patience(lane, [])
      20.times do |turn|
        unit = lane.next_unit
        lane.returned(unit)
        lane.unit_took(unit, 100)
        admit(lane, batch([turn + 3], from: turn + 3))
        run_until((turn + 1) * 1_000)
      end

      assert_empty @session.told
    end

    test "with manual offsets, a record that isn't marked after its unit has ended is named" do
      lane = lane(keyed(manual: true), committed: 0)
      assemble(lane, 0..1)
      first, second = lane.next_unit, lane.next_unit
      [first, second].each { |unit| settle(lane, unit) }
      second.marks.mark(1)
      lane.take_marks
      patience(lane, [])
      run_until(60_000)

      assert_includes @session.told, ["partition.window_full", 0, 30_000]
      assert_equal(1, @session.told.count { |name, *| name == "partition.window_full" })
    end

    test "while records are incomplete the loop wakes once a second, because marking doesn't wake it" do
      lane = lane(route(manual: true), committed: 0)
      assemble(lane, 0..1)
      settle(lane, lane.next_unit)
      patience(lane, [])
      lane.ready = false
      assert_equal 1_000, @stall_monitor.next_due
      run_until(20_000)
      assert_empty @session.told
      lane.marks.mark(1)
      lane.take_marks
      assert_nil @stall_monitor.next_due
    end

    private

    def assemble(lane, offsets) = admit(lane, batch(offsets, from: 0))
  end
end
