# frozen_string_literal: true

require "test_helper"
require "penstock/execution/processes/child_context"
require "penstock/execution/processes/pool"
require "support/executing"

module Penstock
  class ProcessPoolTest < TestCase
    include TestSupport::Executing

    # A mold that can't create a process.
    class Exhausted
      NO_CHILD = Execution::Processes::NoChild
      attr_reader :tries

      def initialize = @tries = 0
      def pid = 1
      def start(_threads) = nil
      def close = nil

      def child
        @tries += 1
        raise NO_CHILD.short_of(Errno::EMFILE.new)
      end
    end

    def executor(middleware, size)
      context = Execution::Processes::ChildContext.new(topics: [@topic], monitor: @monitor, clock: Clock::SYSTEM,
        threads: @threads)
      Execution::Processes::Pool.new(child_context: context, queue: @queue, size: size, local: runner(middleware),
        lost: ->(_error) {}, mold: @mold = Exhausted.new)
    end

    # The pool's clock changes only when the test advances it.
    def executing(...)
      super
      @now = 1_000.0
      time = -> { @now }
      @executor.define_singleton_method(:now) { time.call }
    end

    def push_to(partitions)
      partitions.map do |partition|
        place = lane(partition)
        slot(place).tap { |one| push(place, unit(place, [0]), one) }
      end
    end

    def wait_for_report
      wait_until(5, "the end of its drivers", state: -> { @queue.snapshot }) do
        @errors.size.positive? && @executor.running.empty? && @queue.snapshot[:running].zero?
      end
    end

    test "units for which no process can be created stay queued, uncounted; the reason is reported once, not for each" do
      began = Thread::Queue.new
      @monitor.subscribe("worker.process") { began << true }
      executing(size: 3) { def consume = nil }
      slots = push_to(0..4)
      wait_for_report

      reports = drained(@errors)
      assert_equal ["penstock process"], reports.map { |report| report[:type] }
      assert_match(/Too many open files/, reports.first[:error].message)
      assert_equal [[0]] * 5, slots.flat_map { |one| @queue.withdraw(one) }.map { |unit| unit.messages.map(&:offset) }
      assert_equal [true, true], [@mailbox.empty?, began.empty?]
    end

    test "it is tried again each second, not for each unit that is queued" do
      executing(size: 1) { def consume = nil }
      push_to([0])
      wait_for_report
      push_to(1..9)
      assert_equal [1, 1], [@mold.tries, drained(@errors).size]
      @now += 1
      @executor.start_missing
      wait_for_report

      assert_equal 2, @mold.tries
    end
  end
end
