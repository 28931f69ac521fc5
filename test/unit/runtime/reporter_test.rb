# frozen_string_literal: true

require "test_helper"
require "support/virtual_clock"
require "penstock/instrumentation/monitor"
require "penstock/runtime/reporter"
require "penstock/runtime/threads"

module Penstock
  class ReporterTest < TestCase
    # Starts the thread only when the test requests it, so that the queue fills.
    class HeldThreads
      def start(_name, &block)
        @block = block
        self
      end

      def join(_timeout) = @block.call
      def alive? = true
    end

    def setup
      @monitor = Instrumentation::Monitor.new
      @heard = []
      @monitor.subscribe("app.quiet") { |event| @heard << event[:server_id] }
      @monitor.subscribe("error.occurred") { |event| @heard << event[:type] }
      @reporter = Runtime::Reporter.new(@monitor, HeldThreads.new, capacity: 3, reserved: 1)
    end

    test "queued events are published before the reporter ends, in order" do
      @reporter.emit("app.quiet", {server_id: 1})
      @reporter.emit("app.quiet", {server_id: 2})
      @reporter.close(1)

      assert_equal [1, 2], @heard
    end

    test "a listener that blocks the delivery is found, once, with its place" do
      clock, blocked, release = VirtualClock.new, Thread::Queue.new, Thread::Queue.new
      line = __LINE__ + 3
      @monitor.subscribe("app.running") do |_event|
        blocked << true
        release.pop
      end
      reporter = Runtime::Reporter.new(@monitor, Runtime::Threads.new(->(_name, _error) {}), clock: clock)
      reporter.emit("app.running", {server_id: 1})
      blocked.pop
      clock.advance(9_999)
      assert_nil reporter.stuck
      clock.advance(1)
      event, place = reporter.stuck
      assert_equal ["app.running", true], [event, place.start_with?("#{__FILE__}:#{line}:")], place
      assert_nil reporter.stuck
    ensure
      release << true
      reporter.close(40)
    end

    test "a listener that ends the reporter's thread doesn't prevent later events from being published" do
      ended = Thread::Queue.new
      @monitor.subscribe("app.quiet") do |event|
        ended << (event[:server_id].zero? ? Thread.current : :heard)
        Thread.exit if event[:server_id].zero?
      end
      reporter = Runtime::Reporter.new(@monitor, Runtime::Threads.new(->(_name, _error) {}))
      reporter.emit("app.quiet", {server_id: 0})
      ended.pop.join
      reporter.emit("app.quiet", {server_id: 1})
      wait_until(40, "the second event") { !ended.empty? }
      assert_equal :heard, ended.pop
    ensure
      reporter.close(40)
    end

    test "a full queue makes no thread wait; dropped events are counted, and errors still find room" do
      3.times { |id| @reporter.emit("app.quiet", {server_id: id}) }
      @reporter.emit("error.occurred", {type: "librdkafka.error", error: RuntimeError.new})
      @reporter.close(1)

      assert_equal [[0, 1, "librdkafka.error"], 1], [@heard, @reporter.dropped]
    end

    test "after the end emitting an event raises nothing" do
      @reporter.emit("app.quiet", {server_id: 1})
      @reporter.close(1)
      @reporter.emit("app.quiet", {server_id: 2})

      assert_equal [[1], 1], [@heard, @reporter.dropped]
    end

    test "an event that can't be built is reported as an error, and the next one is published" do
      @reporter.emit("app.quiet", -> { raise "broken" })
      @reporter.emit("app.quiet", {server_id: 2})
      @reporter.close(1)

      assert_equal ["callbacks.statistics.error", 2], @heard
    end

    test "events without listeners aren't queued" do
      @reporter.emit("app.running", -> { flunk "built without a listener" })
      @reporter.close(1)

      assert_empty @heard
    end
  end
end
