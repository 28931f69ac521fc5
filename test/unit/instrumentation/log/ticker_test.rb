# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/log/ticker"

module Penstock
  class LogTickerTest < TestCase
    def ticker(answers)
      @calls = Thread::Queue.new
      Instrumentation::Log::Ticker.new { answers.shift.tap { |answer| @calls << answer } || false }
    end

    def threads = Thread.list.select { |thread| thread.name == "penstock log" }

    test "the block is called until it returns false, then its thread ends; the next wake starts another" do
      ticker = ticker([false])
      2.times do
        ticker.wake
        wait_until(5, "an ended thread", state: -> { threads }) { @calls.size >= 2 && threads.empty? }

        refute @calls.pop
        @calls.clear
      end
    end

    test "hurry calls the block at once: with nothing left the thread ends" do
      answers = [true]
      ticker = ticker(answers)
      ticker.wake
      assert @calls.pop
      began = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      ticker.hurry
      wait_until(5, "an ended thread", state: -> { threads }) { threads.each { ticker.hurry }.empty? }

      assert_operator ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) - began, :<, 0.8 * TestSupport::Wait.busy
    end

    test "it has one thread, also if many threads wake it at once" do
      ticker = ticker([true, true, true])
      before = Thread.list
      Array.new(20) { Thread.new { ticker.wake } }.each(&:join)
      started = Thread.list - before # a thread gives itself its name, which it may not have done yet

      assert_equal 1, started.size
      assert @calls.pop
      assert_equal started, threads
    ensure
      started&.each(&:kill)&.each(&:join)
    end

    test "its thread can be ended, also if code that can't be ended has started it" do
      ticker = ticker([true] * 30)
      Thread.new { Thread.handle_interrupt(Object => :never) { ticker.wake } }.join
      @calls.pop
      ended = threads.each(&:kill).map { |thread| thread.join(1 * TestSupport::Wait.busy) }

      refute_includes ended, nil
      refute_empty ended
    end

    test "without a thread, hurry does nothing" do
      ticker([]).hurry

      assert_empty threads
    end
  end
end
