# frozen_string_literal: true

require "test_helper"
require "penstock/processing/unit"
require "penstock/runtime/mailbox"
require "penstock/runtime/run_queue"
require "penstock/runtime/threads"
require "penstock/runtime/worker_pool"

module Penstock
  # How many workers there are. What they do with a unit: test/contract/execution.
  class WorkerPoolTest < TestCase
    # Runs a unit as long as the test likes, and tells which thread it had.
    class Runner
      attr_reader :began, :threads, :release

      def initialize
        @began, @threads, @release = Thread::Queue.new, Thread::Queue.new, Thread::Queue.new
      end

      def call(_slot, unit)
        @began << unit.lane
        @threads << Thread.current
        @release.pop
        Processing::Outcome.new(unit: unit)
      end
    end

    def setup
      @queue = Runtime::RunQueue.new
      @runner = Runner.new
      @threads = Runtime::Threads.new(->(name, error) { flunk "#{name}: #{error.inspect}" })
      @mailbox = Runtime::Mailbox.new
    end

    def teardown
      @runner.release.close
      assert @pool.close(5), "workers didn't end"
    end

    def pool(concurrency, priority: 0)
      @pool = Runtime::WorkerPool.new(queue: @queue, runner: @runner, threads: @threads, concurrency: concurrency,
        priority: priority)
    end

    # Units of lanes of their own.
    def push(count)
      count.times do |index|
        slot = Runtime::RunQueue::Slot.new("orders", nil, @mailbox)
        @pool.grow(@queue.push(slot, Processing::Unit.new(index, :consume, nil, nil, 1, 0)))
      end
    end

    def running(count)
      wait_until(5, "#{count} units that run", state: -> { @runner.began.size }) { @runner.began.size == count }
      observe_for(0.05) { assert_equal count, @runner.began.size }
    end

    test "[thread priority] workers have the priority of the settings, so that poll loops get their turn first" do
      pool(1, priority: -1)
      push(1)

      assert_equal(-1, @runner.threads.pop.priority)
    end

    test "[worker scaling] from 5 to 10: what waits runs at once" do
      pool(5)
      push(12)
      running(5)
      @pool.scale(10)
      running(10)

      assert_equal 10, @pool.size
    end

    test "[worker scaling] from 10 to 3: what runs ends, then there are three" do
      pool(10)
      push(20)
      running(10)
      @pool.scale(3)
      assert_equal 10, @pool.running.size
      10.times { @runner.release << true }
      running(13)
      assert_equal [3, 3], [@pool.size, @pool.running.size]
      7.times { @runner.release << true }
      wait_until(5, "all of them") { @runner.began.size == 20 }

      assert_operator Array.new(20) { @runner.threads.pop }.last(7).uniq.size, :<=, 3
    end

    test "[worker scaling] workers that wait go at once, and come back when they are wanted again" do
      pool(4)
      push(4)
      running(4)
      4.times { @runner.release << true }
      wait_until(5, "idle workers") { @queue.idle == 4 }
      @pool.scale(1)
      wait_until(5, "the last worker", state: -> { @pool.size }) { @pool.size == 1 && @queue.idle == 1 }
      push(3)
      running(5)
      @pool.scale(3)
      running(7)
    end

    test "[worker scaling] changes that overlap end at the last" do
      pool(8)
      push(30)
      running(8)
      [2, 6, 1, 4].each { |count| @pool.scale(count) }
      20.times { @runner.release << true }
      wait_until(5, "all but the last", state: -> { @runner.began.size }) { @runner.began.size == 24 }

      assert_equal [4, 4], [@pool.size, @pool.running.size]
    end
  end
end
