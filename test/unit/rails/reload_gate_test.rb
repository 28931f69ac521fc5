# frozen_string_literal: true

require "test_helper"
require "penstock/errors"
require "penstock/rails/reload_gate"

module Penstock
  class ReloadGateTest < TestCase
    def setup
      super
      @changed = false
      @asked = 0
      @lines = Thread::Queue.new
      @now = 100.0
      @gate = OnRails::ReloadGate.new(changed: -> { (@asked += 1) && @changed }, report: @lines.method(:<<), root: "/nowhere",
        clock: -> { @now })
      @threads = []
    end

    def teardown
      @threads.each { |thread| thread.kill.alive? && thread.join }
      super
    end

    # A call on a thread of its own, which lasts until its queue gets a value.
    def call(topic = "orders", action: :consume, masked: false)
      ending = Thread::Queue.new
      begun = Thread::Queue.new
      thread = Thread.new do
        Thread.current.report_on_exception = false
        Thread.handle_interrupt(masked ? {Exception => :never} : {}) do
          @gate.pass(topic, action) do |reload|
            begun << reload
            @gate.reloaded if ending.pop == :reloaded
            ending.pop if reload
          end
        end
      end
      @threads << thread
      [begun, ending, thread]
    end

    def waits(thread) = wait_until(5) { thread.status == "sleep" }

    test "it is asked for changes at most five times a second" do
      3.times { @gate.pass("orders", :consume) { |reload| refute reload } }
      assert_equal 1, @asked
      @now += 0.2
      3.times { @gate.pass("orders", :consume) { |reload| refute reload } }

      assert_equal 2, @asked
    end

    test "calls run side by side while nothing has changed" do
      first, second = call, call
      assert_equal [false, false], [first, second].map { |begun, _| begun.pop }
      [first, second].each { |_, ending, thread| ending << :end && thread.join }
    end

    test "a call that must reload begins when the running ones have ended, and others begin when it has reloaded" do
      begun, ending, running = call
      begun.pop
      @changed = true
      @now += 1
      reload, reloaded, reloading = call
      waits(reloading)
      later, late_end, late = call
      waits(late)
      assert_equal [0, 0], [reload.size, later.size]

      ending << :end
      running.join
      assert reload.pop
      waits(reloading)
      assert_empty later
      reloaded << :reloaded
      refute later.pop
      [reloaded, late_end].each { |queue| queue << :end }
      [reloading, late].each(&:join)
    end

    test "after two seconds of waiting one line names the call that holds the reload" do
      begun, ending, running = call("reports", action: :revoked)
      begun.pop
      @changed = true
      @now += 1
      reload, reloaded, reloading = call
      waits(reloading)
      @now += 2.5
      line = @lines.pop
      ending << :end
      running.join
      reload.pop

      assert_match(/waits for revoked of reports, which has been running for 3\.5 s/, line)
      assert_empty @lines
      2.times { reloaded << :reloaded }
      reloading.join
    end

    test "an interrupt gets through to a call that waits, although exceptions are masked; the next call reloads instead" do
      begun, ending, running = call
      begun.pop
      @changed = true
      @now += 1
      _, _, reloading = call(masked: true)
      waits(reloading)
      reloading.raise(Interrupted.new)
      assert_raises(Interrupted) { reloading.join }
      ending << :end
      running.join

      @gate.pass("orders", :consume) { |reload| assert reload }
    end

    test "a reload that raised lets the next call try again" do
      @changed = true
      assert_raises(IOError) { @gate.pass("orders", :consume) { raise IOError } }

      @gate.pass("orders", :consume) { |reload| assert reload }
    end
  end
end
