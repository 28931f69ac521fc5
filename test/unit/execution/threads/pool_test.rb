# frozen_string_literal: true

require "test_helper"
require "penstock/processing/unit"
require "penstock/runtime/loop/mailbox"
require "penstock/execution/run_queue"
require "penstock/runtime/threads"
require "penstock/execution/threads/pool"

module Penstock
  # The number of workers. Running units is tested in test/contract/execution.
  class ExecutionThreadsPoolTest < TestCase
    # Runs a unit until the test ends it, and records its thread.
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

    # Runs the block that a unit has in place of its lane, and measures it.
    class Measuring
      def call(_slot, unit)
        started = Clock.seconds
        unit.lane.call
        Processing::Outcome.new(unit: unit, finished: true, time_us: ((Clock.seconds - started) * 1_000_000).round)
      end
    end

    def setup
      @queue = Execution::RunQueue.new
      @runner = Runner.new
      @threads = Runtime::Threads.new(->(name, error) { flunk "#{name}: #{error.inspect}" })
      @mailbox = Runtime::Mailbox.new
    end

    def teardown
      @runner.release.close
      assert @pool.close(5), "workers didn't end"
    end

    def pool(concurrency, priority: 0, meters: nil)
      @pool = Execution::Threads::Pool.new(queue: @queue, runner: @runner, threads: @threads, concurrency: concurrency,
        priority: priority, meters: meters)
    end

    # Meters whose figures grow with each call of their worker: busy, idle and close add 1, 10 and 100.
    class Meters
      Meter = Struct.new(:thread, :count) do
        def busy = self.count += 1
        def idle = self.count += 10
        def read = [count, 0, 2 * count]

        def close
          raise "closed by another thread" unless thread == Thread.current
          self.count += 100
        end
      end

      attr_reader :opened

      def initialize = @opened = Thread::Queue.new
      def open = Meter.new(Thread.current, 0).tap { |meter| @opened << meter }
    end

    # A slot of quick units, each of which runs a block.
    def quick_slot(width: 4)
      Execution::RunQueue::Slot.new("quick", nil, @mailbox, width: width, ordered: false).tap { |slot| slot.quick = true }
    end

    def unit(&work) = Processing::Unit.new(work, :consume, nil, nil, 1, 0)

    # Starts this number of workers and waits until all are idle.
    def idle_workers(count)
      hold = Thread::Queue.new
      count.times { @pool.grow(@queue.push(Execution::RunQueue::Slot.new("first", nil, @mailbox), unit { hold.pop })) }
      wait_until(5, "busy workers") { hold.num_waiting == count }
      hold.close
      wait_until(5, "idle workers") { @queue.idle == count }
    end

    # One turn of a loop while quick units wait.
    def loop_turn
      now = Clock.milliseconds
      @pool.grow(@queue.release_stuck(now, 2)) if @queue.quick_units?
      @pool.start_missing
    end

    # Units of lanes of their own.
    def push(count)
      count.times do |index|
        slot = Execution::RunQueue::Slot.new("orders", nil, @mailbox)
        @pool.grow(@queue.push(slot, Processing::Unit.new(index, :consume, nil, nil, 1, 0)))
      end
    end

    # @return [Processing::Outcome] of a unit that ends; a worker that was killed has gone
    def run_one
      push(1)
      @runner.release << true
      outcome = nil
      wait_until(20, "an outcome") { outcome = @mailbox.shift }
      wait_until(20, "the queue's only reader", state: -> { @pool.size }) { @queue.idle == 1 }
      outcome
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

    test "[lock metrics] each worker is busy from taking a unit to its end; workers that have ended count, too" do
      pool(2, meters: Meters.new)
      push(2)
      running(2)
      assert_equal [2, 0, 4], @pool.figures
      2.times { @runner.release << true }
      wait_until(5, "idle workers", state: -> { @queue.idle }) { @queue.idle == 2 }
      assert_equal [22, 0, 44], @pool.figures
      @pool.close(5)

      assert_equal [222, 0, 444], @pool.figures
    end

    test "[lock metrics] the meter of a worker that is killed is closed by its thread, and its figures count" do
      @runner.define_singleton_method(:broken) { |unit| Processing::Outcome.new(unit: unit, error: RuntimeError.new("broken")) }
      pool(1, meters: Meters.new)
      push(1)
      @runner.threads.pop.kill
      wait_until(5, "another worker that is idle", state: -> { @queue.idle }) { @queue.idle == 1 }

      assert_equal [101, 0, 202], @pool.figures
    end

    test "without meters there are no figures" do
      pool(1)
      push(1)
      running(1)

      assert_equal [0, 0, 0], @pool.figures
    end

    # The worker is killed at the moment at which it reports the end of a unit.
    class KillingQueue < Execution::RunQueue
      attr_writer :victims

      def finished(...)
        victim = Thread.current
        Thread.new { victim.kill }.join if (@victims -= 1) >= 0
        super
      end
    end

    test "a worker that is killed between the end of a unit and its outcome posts it, and another takes its place" do
      @queue = KillingQueue.new
      @queue.victims = 1
      pool(1)
      outcomes = Array.new(2) { run_one }

      assert_equal [nil, nil], outcomes.map(&:error)
      refute_equal @runner.threads.pop, @runner.threads.pop
    end

    test "a worker that is killed in user code leaves a unit that failed, and another takes its place" do
      @runner.define_singleton_method(:broken) { |unit| Processing::Outcome.new(unit: unit, error: RuntimeError.new("broken")) }
      pool(1)
      push(2)
      @runner.threads.pop.kill
      wait_until(20, "the next unit", state: -> { @runner.began.size }) { @runner.began.size == 2 }
      2.times { @runner.release << true }
      outcomes = []
      wait_until(20, "both outcomes", state: -> { outcomes.size }) { outcomes.concat(@mailbox.take_all).size == 2 }

      assert_equal ["broken", nil], outcomes.map { |outcome| outcome.error&.message }
    end

    # A limit of threads has been reached.
    def without_threads
      errors = []
      @threads = Runtime::Threads.new(->(_name, error) { errors << error.class })
      @threads.define_singleton_method(:start) { |*, **| raise ThreadError, "can't create Thread" }
      yield
      @threads.singleton_class.remove_method(:start)
      assert_equal [ThreadError], errors
    end

    test "units for which no worker could be started run as soon as one can be" do
      without_threads do
        pool(2)
        push(1)
      end
      assert_equal 0, @pool.size
      @pool.start_missing
      running(1)
      @pool.start_missing

      assert_equal 1, @pool.size
    end

    test "after a hook for which no worker could be started, the next one gets a worker, which runs both" do
      hooks = Array.new(2) { |index| Processing::Unit.new(index, :revoked, nil, nil, 1, 0) }
      slot = Execution::RunQueue::Slot.new("orders", nil, @mailbox)
      without_threads do
        pool(2)
        assert @queue.push_hook(slot, hooks.first)
        @pool.start_hook_worker
      end
      assert @queue.push_hook(slot, hooks.last)
      @pool.start_hook_worker
      2.times { @runner.release << true }
      wait_until(20, "both hooks", state: -> { @runner.began.size }) { @runner.began.size == 2 }

      assert_equal [0, 1], Array.new(2) { @runner.began.pop }
    end

    test "[worker scaling] from 5 to 10: queued units run at once" do
      pool(5)
      push(12)
      running(5)
      @pool.scale(10)
      running(10)

      assert_equal 10, @pool.size
    end

    test "[worker scaling] from 10 to 3: running units end, then there are three workers" do
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

    test "[worker scaling] idle workers end at once, and are started again when they are needed" do
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

    test "[worker scaling] of overlapping changes the last one counts" do
      pool(8)
      push(30)
      running(8)
      [2, 6, 1, 4].each { |count| @pool.scale(count) }
      20.times { @runner.release << true }
      wait_until(5, "all but the last", state: -> { @runner.began.size }) { @runner.began.size == 24 }

      assert_equal [4, 4], [@pool.size, @pool.running.size]
    end
    test "a unit of another slot runs while workers that took quick units wait in user code, if a worker is idle" do
      @pool = Execution::Threads::Pool.new(queue: @queue, runner: Measuring.new, threads: @threads, concurrency: 3, priority: 0)
      idle_workers(3)
      one, other = quick_slot(width: 1), quick_slot
      first, last, blocked, ran = Array.new(4) { Thread::Queue.new }
      @queue.push(one, unit {}, unit { first.pop })
      wait_until(5, "the first worker") { first.num_waiting == 1 }
      @queue.push(other, *Array.new(30) { unit {} }, unit { last.pop }, *Array.new(2) { unit { blocked.pop } })
      wait_until(5, "the second worker") { last.num_waiting == 1 }
      @queue.push(one, unit { ran << true })
      first << true # its worker takes the unit of the other slot that is left over
      wait_until(5, "a blocked worker") { blocked.num_waiting >= 1 }
      last << true

      wait_until(5, "the unit", state: -> { @queue.snapshot }) do
        loop_turn
        ran.size == 1
      end
    ensure
      [first, last, blocked].each { |queue| queue&.close }
    end

    test "a worker that is killed when it is one too many wakes another for what it leaves" do
      @pool = Execution::Threads::Pool.new(queue: @queue, runner: Measuring.new, threads: @threads, concurrency: 2, priority: 0)
      idle_workers(2)
      slot, hold, ran, victim = quick_slot(width: 1), Thread::Queue.new, Thread::Queue.new, nil
      post = @mailbox.method(:post)
      # The kill comes while the outcome is posted, and takes effect when the worker has decided to end.
      @mailbox.define_singleton_method(:post) do |outcome|
        if victim == Thread.current
          killed, victim = victim, nil
          Thread.new { killed.kill }.join
        end
        post.call(outcome)
      end
      @queue.push(slot, unit { (victim = Thread.current) && hold.pop })
      wait_until(5, "a busy worker") { hold.num_waiting == 1 }
      @queue.push(slot, unit { ran << true })
      @queue.define_singleton_method(:recall) { nil } # the idle one stays, so the busy one is too many
      @pool.scale(1)
      hold << true

      wait_until(5, "the unit", state: -> { @queue.snapshot }) do
        loop_turn
        ran.size == 1
      end
    end

    test "a worker that is killed while it wakes a loop keeps the unit it took" do
      slow = Class.new(Runtime::Mailbox) do
        attr_reader :caller
        def gate = @gate ||= Thread::Queue.new
        def wake_up = (@caller = Thread.current) && gate.pop
      end.new
      @pool = Execution::Threads::Pool.new(queue: @queue, runner: Measuring.new, threads: @threads, concurrency: 1, priority: 0)
      @queue.instance_variable_get(:@awaiting)["orders"] = [slow]
      ran = Thread::Queue.new
      @pool.grow(@queue.push(Execution::RunQueue::Slot.new("orders", nil, @mailbox), unit { ran << true }))
      wait_until(5, "the worker in the loop's mailbox") { slow.gate.num_waiting == 1 }
      slow.caller.kill
      observe_for(0.05)
      slow.gate << true

      wait_until(5, "the unit", state: -> { @queue.snapshot }) do
        loop_turn
        ran.size == 1
      end
    end
  end
end
