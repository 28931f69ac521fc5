# frozen_string_literal: true

require "test_helper"
require "support/executing"
require "penstock/processing/multi_call_unit"

module Penstock
  # A unit of several calls of `consume`, on the worker's side.
  class MultiCallUnitTest < TestCase
    include TestSupport::Executing

    # Time passes only when user code advances it.
    Hand = Struct.new(:monotonic_us) do
      def monotonic_ms = monotonic_us / 1_000
      def wall_ms = 1_000
    end

    def executor(middleware, _size)
      @clock = Hand.new(0)
      @runner = Execution::UnitRunner.new(monitor: @monitor, middleware: middleware, clock: @clock, critical: [], queue: @queue)
      nil
    end

    # @param offsets [Enumerable<Integer>] two per call
    # @return [Processing::Outcome]
    def run_stretch(offsets, lane = lane())
      @lane = lane
      @unit = stretched(lane, offsets)
      @runner.call(slot(lane), @unit)
    end

    def stretched(lane, offsets)
      stretch = Processing::MultiCallUnit.new(messages(lane, offsets), 2)
      Processing::Unit.new(lane, :consume, nil, nil, 1, 0, nil, nil, nil, nil, stretch).tap(&:begin_next_call)
    end

    # User code that records its calls, and runs the given block in the second.
    def noting(&second)
      calls = @calls = []
      executing do
        define_method(:consume) do
          calls << messages.map(&:offset)
          instance_exec(&second) if second && calls.size == 2
        end
      end
    end

    def rest = @unit.rest&.offsets

    test "each call gets at most as many records as one call may, and all calls are one outcome, complete through its end" do
      noting
      outcome = run_stretch(1..5)
      assert_equal [[1, 2], [3, 4], [5]], @calls
      assert_equal [true, 6, nil, 3], [!outcome.stalls?, @unit.upto, rest, @unit.stretch.calls]
    end

    test "records of finished calls count as marked, those of the current call don't" do
      marks = nil
      lane = nil
      noting { marks = lane.marks.through }
      lane = lane()
      run_stretch(1..6, lane)
      assert_equal [3, 5], [marks, lane.marks.through]
    end

    test "a call that fails makes its records the failed unit, and the records after it are returned" do
      noting { messages.each { |message| raise IOError if message.offset == 3 } }
      outcome = run_stretch(1..7)
      assert_equal [[1, 2], [3, 4]], @calls
      assert_equal [IOError, 3, false, [3, 4], [5, 6, 7]],
        [outcome.error.class, outcome.blamed, !outcome.stalls?, @unit.messages.offsets, rest]
      assert_equal 3, @lane.marks.through
    end

    test "the unit starts no further call when its time has passed" do
      clock = nil
      noting { clock.monotonic_us += 2_000 }
      clock = @clock
      assert_equal [false, [5, 6], 2_000], run_stretch(1..6).then { |outcome| [!outcome.stalls?, rest, outcome.time_us] }
    end

    test "the unit starts no further call after a request, nor after an each that was left early" do
      noting { pause(nil, 10) }
      assert_kind_of Consumer::Flow::Pause, run_stretch(1..6).flow
      assert_equal [5, 6], rest
      noting { messages.each { |_message| break } }
      outcome = run_stretch(1..6)
      assert_equal [false, [5, 6], false], [outcome.finished, rest, !outcome.stalls?]
    end

    test "records that the loop calls back aren't begun" do
      unit = nil
      noting { unit.stretch.finish! }
      lane = lane()
      unit = stretched(lane, 1..6)
      outcome = @runner.call(slot(lane), unit)
      assert_equal [[[1, 2], [3, 4]], [5, 6], false], [@calls, unit.rest.offsets, !outcome.stalls?]
    end

    test "no further call is begun on a revoked lane" do
      noting { @penstock_context.marks.leave! }
      run_stretch(1..6)
      assert_equal [[[1, 2], [3, 4]], [5, 6]], [@calls, rest]
    end

    test "nothing is marked after a transaction, which decides about its records itself" do
      noting
      transacted = Module.new { def transacted? = true }
      lane = lane()
      context = Consumer::Context.new(lane, @link).extend(transacted)
      unit = stretched(lane, 1..6)
      @runner.call(Execution::RunQueue::Slot.new("orders", Consumer::Pool.new { context }, @mailbox), unit)
      assert_equal [[[1, 2]], [3, 4, 5, 6], -1], [@calls, unit.rest.offsets, lane.marks.through]
    end

    test "after user code ended its thread in a later call, a request from outside goes to the loop" do
      noting { Thread.exit }
      contexts = []
      slot = nil
      Thread.new do
        lane = lane()
        pool = Consumer::Pool.new { Consumer::Context.new(lane, @link).tap { |context| contexts << context } }
        slot = Execution::RunQueue::Slot.new("orders", pool, @mailbox)
        @runner.call(slot, stretched(lane, 1..6))
      end.join
      contexts.first.pause(nil, 10)
      assert_equal [[[1, 2], [3, 4]], 1], [@calls, @link.requests.size]
    end

    test "a transaction that another thread begins together with a call is one of the unit" do
      noting
      lane = lane()
      context = Consumer::Context.new(lane, @link)
      unit = unit(lane, 1..2)
      unit.define_singleton_method(:consume?) { context.begin_transaction.equal?(self) }
      context.begin_unit(unit)
      assert_equal [true, true], [context.used?, context.transacted?]
    end

    test "[used?] it is false in initialized, also of an instance whose first unit is a call of consume" do
      seen = []
      executing do
        define_method(:initialized) { seen << used? }
        define_method(:consume) { seen << used? }
      end
      run_stretch(1..4)
      assert_equal [false, true, true], seen
    end

    test "user code that ends its thread affects only the current call" do
      noting { Thread.exit }
      Thread.new { run_stretch(1..6) }.join
      outcome = @runner.broken(@unit)
      assert_equal [[3, 4], [5, 6], 4, 3], [@unit.messages.offsets, rest, outcome.blamed, @lane.marks.through]
    end
  end
end
