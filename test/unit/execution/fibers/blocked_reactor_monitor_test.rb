# frozen_string_literal: true

require "test_helper"
require "penstock/execution/fibers/blocked_reactor_monitor"

module Penstock
  class ExecutionFibersBlockedReactorMonitorTest < TestCase
    Reactor = Struct.new(:beat, :thread, :current)

    def setup
      @told = []
      @reactors = []
      @monitor = Execution::Fibers::BlockedReactorMonitor.new(-> { @reactors }, ->(name, payload) { @told << [name, payload] })
    end

    test "a reactor that is blocked for over a second is reported once each time" do
      @reactors << (reactor = Reactor.new(10.0, Thread.current, nil))
      assert @monitor.check(10.9)
      assert_empty @told
      2.times { @monitor.check(11.2) }
      assert_equal ["fibers.blocked"], @told.map(&:first)
      assert_equal 1_200, @told[0][1][:waited_ms]
      assert_includes @told[0][1][:backtrace].join, __FILE__
      reactor.beat = 12.0
      @monitor.check(14.0)
      assert_equal 2, @told.size
    end

    test "reactors without work are ignored" do
      @reactors << Reactor.new(nil, nil, nil)

      refute @monitor.check(100.0)
      assert_empty @told
    end
  end
end
