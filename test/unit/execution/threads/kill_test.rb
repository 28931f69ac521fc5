# frozen_string_literal: true

require "test_helper"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/processing/unit"
require "penstock/runtime/loop/mailbox"
require "penstock/execution/run_queue"
require "penstock/runtime/threads"
require "penstock/execution/threads/pool"

module Penstock
  class ExecutionThreadsKillTest < TestCase
    # Runs the block that a unit has in place of its lane.
    class Runner
      def call(_slot, unit)
        Thread.handle_interrupt(Exception => :immediate) { unit.lane.call }
        outcome(unit, nil)
      rescue => error
        outcome(unit, error)
      end

      def broken(unit) = outcome(unit, InternalError.new("broken"))

      private

      def outcome(unit, error) = Processing::Outcome.new(unit: unit, error: error, finished: true)
    end

    def setup
      @died = []
      @queue = Execution::RunQueue.new
      @pool = Execution::Threads::Pool.new(queue: @queue, runner: Runner.new, concurrency: 1, priority: 0,
        threads: Runtime::Threads.new(->(name, error) { @died << [name, error] }))
      @mailbox = Runtime::Mailbox.new
    end

    def teardown
      assert @pool.close(5)
      assert_empty @died
    end

    def slot(**options) = Execution::RunQueue::Slot.new("orders", nil, @mailbox, **options)
    def unit(action = :consume, &work) = Processing::Unit.new(work, action, nil, nil, 1, 0)

    def outcomes(count)
      found = []
      wait_until(5, "outcomes") do
        found.concat(@mailbox.take_all)
        found.size >= count
      end
      found
    end

    test "a worker whose thread was ended by user code is replaced: queued units don't wait for the next push" do
      go = Queue.new
      @pool.grow(@queue.push(slot, unit { go.pop && Thread.exit }))
      wait_until { @pool.running.any? }
      @queue.push(slot, unit { nil })
      go << true
      assert_equal [true, false], outcomes(2).map { |outcome| outcome.error.is_a?(InternalError) }
    end

    test "later hooks still get a thread after a hook has ended its thread" do
      assert @queue.push_hook(slot, unit(:revoked) { Thread.exit })
      @pool.start_hook_worker
      outcomes(1)
      wait_until { @queue.push_hook(slot, unit(:revoked) { nil }) }
      @pool.start_hook_worker
      assert_nil outcomes(1).last.error
    end

    test "an error raised in a worker between two units doesn't hit the next unit" do
      @pool.grow(@queue.push(slot, unit { nil }))
      outcomes(1)
      worker = @pool.instance_variable_get(:@workers).first
      2.times { worker.raise(IOError, "too late") }
      @queue.push(slot, unit { nil })
      assert_nil outcomes(1).first.error
    end

    test "units that were taken together and withdrawn before the first began leave their partition free" do
      lane = slot(width: 1, ordered: false)
      lane.quick = true
      first = unit { flunk "it was called back" }
      queue = @queue
      @queue.define_singleton_method(:take_chunk) do |**options|
        super(**options).tap { |_slot, units| queue.withdraw(lane) if units&.include?(first) }
      end
      @pool.grow(@queue.push(lane, first, unit { nil }))
      wait_until { lane.running.zero? && lane.pending.empty? }
      @queue.push(lane, unit { nil })
      assert_nil outcomes(1).first.error
    end

    test "user code that ends its thread in the middle of quick units loses no other unit" do
      lane = slot(width: 1, ordered: false)
      lane.quick = true
      ran = []
      @pool.grow(@queue.push(lane, unit { ran << 1 }, unit { Thread.exit }, unit { ran << 3 }))
      assert_equal [false, true, false], outcomes(3).map { |outcome| outcome.error.is_a?(InternalError) }
      assert_equal [1, 3], ran
    end
  end
end
