# frozen_string_literal: true

require "test_helper"
require "penstock/execution/executors"
require "penstock/execution/run_queue"

module Penstock
  class ExecutionExecutorsTest < TestCase
    Topic = Struct.new(:name, :pattern, :discovered) do
      def discovered? = discovered || false
    end

    # Records its calls.
    class Place
      include Execution::Executor

      attr_reader :queue, :grown, :closed

      def initialize(running = [])
        @queue = Execution::RunQueue.new
        @grown = []
        @running = running
      end

      def grow(count = 1) = @grown << count
      def interrupt(lanes) = @running & lanes
      def running = @running.map { |unit| [:thread, unit] }
      def size = @running.size
      def start_hook_worker = @grown << :hook
      def close(timeout_s) = (@closed = timeout_s) && @running.empty?
    end

    Unit = Struct.new(:name) do
      def hook? = false
    end

    def setup
      @threads, @fibers = Place.new, Place.new([:a])
      @pattern = Object.new
      @all = Execution::Executors.new(@threads, {Topic.new("waits") => @fibers, Topic.new("all", @pattern) => @fibers})
    end

    def slot(topic) = Execution::RunQueue::Slot.new(topic)

    test "units go to the executor of their topic's route, others to threads, hooks to threads" do
      waits, rest = slot("waits"), slot("orders")
      waits.quick = true
      assert_equal 0, @all.push(waits, Unit.new(:w))
      assert_equal [1], @fibers.grown
      refute waits.quick
      assert_equal 1, @all.push(rest, Unit.new(:o))
      assert @all.push_hook(waits, Unit.new(:hook))
      assert_equal [1, 1], [@all.waiting("waits"), @all.waiting("orders")]
      assert_equal [:w, :hook, :o], [@fibers.queue.take(wait: false), @threads.queue.take(wait: false),
        @threads.queue.take(wait: false)].map { |_slot, unit| unit.name }
    end

    test "each executor whose units wait starts a worker that is missing" do
      @fibers.queue.push(slot("waits"), Unit.new(:w))
      @all.start_missing

      assert_equal [[0], [1]], [@threads.grown, @fibers.grown]
    end

    test "units that have not started are withdrawn from the queue they wait in" do
      waits = slot("waits")
      @all.push(waits, Unit.new(:w))

      assert_equal [:w], @all.withdraw(waits).map(&:name)
      assert_equal 0, @all.snapshot[:ready]
    end

    test "a topic that a pattern discovers uses the pattern's executor" do
      @all.add_topic(Topic.new("new", @pattern, true))
      @all.add_topic(Topic.new("other", Object.new, true))
      @all.push(slot("new"), Unit.new(:n))
      @all.push(slot("other"), Unit.new(:o))

      assert_equal [1, 1], [@fibers.queue.snapshot[:ready], @threads.queue.snapshot[:ready]]
    end

    test "running units, interrupts and a close concern all executors" do
      assert_equal [[:thread, :a]], @all.running
      assert_equal [:a], @all.interrupt([:a, :b])
      refute @all.close(5)
      assert_operator @threads.closed, :<=, 5
    end
  end
end
