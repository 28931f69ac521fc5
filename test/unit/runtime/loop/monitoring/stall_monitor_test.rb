# frozen_string_literal: true

require "test_helper"
require "support/all_active"
require "support/lanes"
require "penstock/routing/features/window"
require "penstock/runtime/loop/monitoring/stall_monitor"

module Penstock
  class StallMonitorTest < TestCase
    include TestSupport::Lanes

    Parallel = Struct.new(:by, :max_partitions, :partitioner, :consistent?, :offset_metadata_strategy)
    Pool = Struct.new(:units) do
      attr_reader :attempts

      def running = units.map { |unit| [nil, unit] }
      def start_missing = @attempts = @attempts.to_i + 1
    end
    Session = Struct.new(:now, :lanes, :pool, :told, keyword_init: true) do
      include TestSupport::AllActive

      def all = lanes.values
      def current?(lane) = lanes.value?(lane)
      def reporter = self
      def stuck = nil
      def payloads = @payloads ||= []

      def emit(name, payload)
        payloads << payload
        told << [name, payload[:offset] || payload[:first_offset], payload[:waited_ms]]
      end
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

    test "once a second the executor may start workers that are missing" do
      patience(lane(committed: 0), [])
      @stall_monitor.run
      assert_nil @session.pool.attempts
      run_until(3_000)

      assert_equal 3, @session.pool.attempts
    end

    test "a lane that is held, because its partitioner raised, doesn't wait for a worker" do
      lane = lane(keyed, committed: 0)
      assemble(lane, 0..2)
      lane.intake.wait(:prepare, 60_000)
      patience(lane, [])
      run_until(20_000)

      assert_empty @session.told
      lane.intake.expire(60_000)
      run_until(40_000)

      assert_equal [["partition.starved", nil, 5_000]], @session.told
    end

    test "records that wait for their next attempt, or for the acknowledgement of a dead letter, don't wait for a worker" do
      in_order, keyed = lane(committed: 0), lane(keyed(), committed: 0)
      [in_order, keyed].each do |lane|
        admit(lane, batch([0], from: 0))
        settle(lane, lane.next_unit, error: RuntimeError.new("no total"))
        patience(lane, [])
        run_until(20_000)

        assert_empty @session.told
      end
      lettered = lane(committed: 0).tap(&:letter_sent)
      lettered.takes.ready = false
      patience(lettered, [])
      run_until(20_000)

      assert_empty @session.told
    end

    test "a unit that is handed out and that no worker has begun waits for one" do
      lane = lane(keyed, committed: 0)
      assemble(lane, 0..0)
      lane.next_unit
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
        unit.record_time(100)
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

    test "a window that records fill which run or are retried is reported once, with their number and the limit" do
      features = {parallel: Parallel.new(:message, 4, nil, false), window: Routing::Window.new(20, nil)}
      lane = lane(route(features: features, max_messages: 10), committed: 0)
      assemble(lane, 0..19)
      running = lane.next_unit
      19.times { settle(lane, lane.next_unit, error: RuntimeError.new("no")) }
      patience(lane, [running], limit_ms: 100_000)
      run_until(29_000)
      assert_empty @session.told
      run_until(90_000)

      assert_equal [["partition.window_full", 0, 30_000]], @session.told
      assert_equal [20, "records"], @session.payloads.last.values_at(:count, :reason)
    end

    test "a full window isn't reported while its first record changes" do
      features = {parallel: Parallel.new(:message, 4, nil, false), window: Routing::Window.new(4, nil)}
      lane = lane(route(features: features, max_messages: 1), committed: 0)
      assemble(lane, 0..3)
      units = Array.new(4) { lane.next_unit }
      patience(lane, units)
      4.times do |index|
        settle(lane, units.shift)
        admit(lane, batch([4 + index], from: 4 + index))
        units << lane.next_unit
        assert_equal :records, lane.division.full(lane)
        run_until((index + 1) * 20_000)
      end

      assert_empty @session.told.map(&:first) & ["partition.window_full"]
    end

    test "while records are incomplete the loop wakes once a second, because marking doesn't wake it" do
      lane = lane(route(manual: true), committed: 0)
      assemble(lane, 0..1)
      settle(lane, lane.next_unit)
      patience(lane, [])
      lane.takes.ready = false
      assert_equal 1_000, @stall_monitor.next_due
      run_until(20_000)
      assert_empty @session.told
      lane.marks.mark(1)
      lane.take_marks
      assert_nil @stall_monitor.next_due
    end

    test "with manual offsets, a consumer that never marks is named once, with the place of its consume" do
      topic = route(manual: true)
      features = {**topic.features, consumer: Gathering}
      topic.define_singleton_method(:features) { features }
      lanes = [0, 1].map { |partition| topic_pipeline(topic).lane("orders", partition, 1).tap { |lane| lane.adopt(0) } }
      lanes.each { |lane| handed_out(lane) }
      watch(lanes)
      run_until(299_000)
      assert_empty @session.told
      run_until(900_000)

      line = Gathering.instance_method(:consume).source_location.last
      assert_equal [["consumer.unmarked", 0, 300_000, "Penstock::StallMonitorTest::Gathering#consume (#{__FILE__}:#{line})"]],
        @session.told
    end

    test "a listener that blocks the delivery of events is named in the log, which doesn't need that delivery" do
      patience(lane(committed: 0), [])
      stuck = [["consumer.consumed", "app.rb:12:in `block'"]]
      log = []
      @session.define_singleton_method(:stuck) { stuck.shift }
      @session.define_singleton_method(:log_aside) { |level, line| log << [level, line] }
      run_until(5_000)

      assert_equal [[4, "a listener of consumer.consumed has blocked the thread that delivers events for over 10 s, at " \
        "app.rb:12:in `block': no event is delivered and nothing is logged until it ends. Do slow work on a thread of your " \
        "own"]], log
    end

    test "a mark in time, a running call, a hold and automatic offsets are no forgotten mark" do
      marked = lane(route(manual: true), committed: 0)
      handed_out(marked)
      held = lane(route(manual: true), committed: 0)
      handed_out(held)
      held.holds.add(:user)
      automatic = lane(route, committed: 0)
      handed_out(automatic)
      running = lane(route(manual: true), committed: 0)
      assemble(running, 0..1)
      unit = running.next_unit
      {marked => [], held => [], automatic => [], running => [unit]}.each do |lane, units|
        patience(lane, units, limit_ms: 10_000_000)
        run_until(200_000)
        marked.marks.mark(0)
        marked.take_marks
        run_until(450_000)
        assert_empty(@session.told.select { |name, *| name == "consumer.unmarked" })
      end
    end

    # Marks nothing.
    class Gathering
      def consume = nil
    end

    private

    def handed_out(lane)
      assemble(lane, 0..1)
      settle(lane, lane.next_unit)
      lane.takes.ready = false
    end

    def watch(lanes)
      table = lanes.to_h { |lane| [lane.key, lane] }
      @session = Session.new(now: 0, lanes: table, pool: Pool.new([]), told: [])
      @session.define_singleton_method(:emit) { |name, payload| told << [name, *payload.values_at(:offset, :waited_ms, :place)] }
      @stall_monitor = Runtime::StallMonitor.new(@session, 10_000)
    end

    def assemble(lane, offsets) = admit(lane, batch(offsets, from: 0))
  end
end
