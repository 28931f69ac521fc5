# frozen_string_literal: true

require "support/executing"
require "support/rules"
require "penstock/execution/executor"

module Penstock
  # Behaviour of every executor that poll loops rely on, see Execution::Executor. The including test case defines
  # `executor(middleware, size)`.
  module ExecutorContract
    extend TestSupport::Rules

    rule "an executor defines every method of the interface, and its queue is a run queue" do
      executing { def consume = nil }

      assert_kind_of Execution::Executor, @executor
      assert_empty(Execution::Executor::METHODS.select { |name| @executor.method(name).owner.equal?(Execution::Executor) })
      assert_empty(Execution::Executor::QUEUE_METHODS.reject { |name| @executor.queue.respond_to?(name) })
    end

    rule "an executor starts nothing before there is work, and growing by none changes nothing" do
      executing { def consume = nil }
      @executor.grow(0)

      assert_equal [0, []], [@executor.size, @executor.running]
    end

    rule "units for which no thread could be started run as soon as one can be; until then that is reported" do
      executing { def consume = log("ran") }
      @threads.define_singleton_method(:start) { |*, **| raise ThreadError, "can't create Thread" }
      place = lane
      push(place, unit(place, [0]))
      assert_equal [0, ThreadError], [@executor.size, @errors.pop[:error].class]
      @threads.singleton_class.remove_method(:start)
      @executor.start_missing

      assert_nil outcome.error
      assert_equal "ran", told
    end

    rule "an executor lists a running unit with its thread, until the unit's outcome is available" do
      executing_until_stopping
      place = lane
      only = push(place, unit(place, [0]))
      assert_equal "began 0", told
      thread, running = @executor.running.first

      assert_equal [Thread, only, 1], [thread.class, running, @executor.running.size]
      assert_operator @executor.size, :>=, 1
      @link.stopping = true
      assert_nil outcome.error
      assert_empty @executor.running
    end

    rule "an interrupt returns the units it affects: those of the named lanes, and none after they have ended" do
      executing_until_stopping
      named, other = lane(0), lane(1)
      units = [named, other].map { |place| push(place, unit(place, [0])) }
      assert_equal ["began 0", "began 1"], [told, told].sort

      assert_equal [units.first], @executor.interrupt([named])
      assert_equal [units.first, Interrupted], outcome.then { |hit| [hit.unit, hit.error.class] }
      assert_empty @executor.interrupt([named])
      @link.stopping = true
      assert_nil outcome.error
    end

    rule "a close waits for running units, and returns true when everything has ended" do
      executing_until_stopping
      place = lane
      push(place, unit(place, [0]))
      assert_equal "began 0", told
      closing = Thread.new { @executor.close(10) }
      wait_until(5, "the close to begin") { @executor.queue.closed? }
      @link.stopping = true

      assert_nil outcome.error
      assert_equal [true, []], [closing.value, @executor.running]
    end

    # Numbers records as a topic's breaker does, and keeps the offsets of the units that it was asked for.
    Numbering = Struct.new(:numbered) do
      def number_records(count, unit)
        numbered << unit.messages.first_offset
        count * 100
      end
    end

    rule "the records of a first attempt are numbered for the breaker, whether they succeed or fail; retries and hooks aren't" do
      executing { def consume = (raise "no" if messages.first.offset == 4) }
      numbering = Numbering.new([])
      place = lane.tap { |one| one.breaker = numbering }
      begun = [[0, 1], [2, 3], [4]].map { |offsets| run_unit(offsets, at: place).unit.first_number }
      run_unit([4], at: place, attempt: 2)

      assert_equal [200, 200, 100], begun
      assert_equal [0, 2, 4], numbering.numbered
    end

    rule "an executor accepts a topic that a pattern discovered" do
      executing { def consume = nil }

      assert_nil @executor.add_topic(@topic)
    end
  end
end
