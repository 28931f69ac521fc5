# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "tmpdir"
require "penstock/execution/processes/pool"
require "penstock/execution/processes/child_context"
require_relative "execution_contract"
require_relative "executor_contract"
require_relative "records_contract"
require_relative "wrapper_contract"

module Penstock
  class ExecutionInProcessesTest < TestCase
    include TestSupport::Executing

    ExecutionContract.add_to(self)
    ExecutorContract.add_to(self)
    RecordsContract.add_to(self)
    WrapperContract.add_to(self)

    def executor(middleware, size)
      @lost = Thread::Queue.new
      child_context = Execution::Processes::ChildContext.new(topics: [@topic], middleware: middleware, monitor: @monitor,
        clock: Clock::SYSTEM, critical: [SystemExit], producer: -> { :own_producer }, threads: @threads,
        close_producer: ->(_ms) { @at_close&.call(@recorder) }, adopt: ->(recorder) { @recorder = recorder })
      Execution::Processes::Pool.new(child_context: child_context, queue: @queue, size: size, local: runner(middleware),
        lost: ->(error) { @lost << error })
    end

    test "user code runs in another process" do
      executing do
        def consume = log(::Process.pid)
      end
      run_unit([0])

      refute_equal ::Process.pid, Integer(told)
    end

    # Otherwise it would run once more, alone.
    test "which record has failed is known here too, unless the error came after the iteration" do
      executing do
        def consume
          messages.each { |message| raise ArgumentError, "no" if message.offset == 1 && messages.size == 3 }
          raise ArgumentError, "written together" if messages.size == 2
        end
      end
      located = run_unit([0, 1, 2])
      assert_equal [1, 1], [located.blamed, located.unit.messages.cursor]
      together = run_unit([0, 1])
      assert_equal [1, nil], [together.blamed, together.unit.messages.cursor]
    end

    # A consumer whose first unit leaves a thread running, which calls the block when the sign file exists.
    def leaving_behind(&wish)
      @folder = Dir.mktmpdir
      sign = File.join(@folder, "sign")
      executing(size: 1) do
        define_method(:consume) do
          next until_true { stopping? } if messages.first.offset == 9
          pause(:consecutive, 60_000)
          Thread.new do
            until_true { File.exist?(sign) }
            log(instance_exec(&wish).inspect)
          end
        end
      end
      sign
    end

    # @return [Array] the first requests to the poll loop
    def heard(asked, count)
      wait_until(10, "#{count} wishes", state: -> { asked.size }) { asked.size >= count }
      Array.new(count) { asked.pop }
    end

    def after_teardown
      super
      FileUtils.rm_rf(@folder) if @folder
    end

    test "resume from a thread whose unit has ended reaches the poll loop, even if the process is idle" do
      sign = leaving_behind { resume }
      assert_instance_of Consumer::Flow::Pause, run_unit([0]).flow
      FileUtils.touch(sign)
      wait_until(10, "the wish", state: -> { @link.requests }) { @link.requests.any? }

      assert_equal [Consumer::Flow::Resume.new], @link.requests
    end

    test "a request of a thread whose unit has ended concerns its own partition, whichever unit runs meanwhile" do
      sign = leaving_behind do
        resume
        seek(7)
      end
      asked = Thread::Queue.new
      @link.define_singleton_method(:request) { |place, flow| asked << [place.partition, flow] }
      run_unit([0], at: lane(3))
      other = lane(5)
      push(other, unit(other, [9]))
      wait_until(10, "its unit", state: -> { @executor.running }) { @executor.running.any? }
      FileUtils.touch(sign)

      assert_equal [[3, Consumer::Flow::Resume.new], [3, Consumer::Flow::Seek.new(7)]], heard(asked, 2)
      @link.stopping = true
      assert_nil outcome.error
    end

    # @return [#call] emits an event in a process of the pool
    def emitting(type, count = 1)
      test = self
      lambda do |**more|
        count.times { test.instance_variable_get(:@recorder).instrument("error.occurred", {type: type, error: nil, **more}) }
      end
    end

    test "events of a process that has no unit are published at once, and belong to none" do
      emit = emitting("left behind")
      sign = leaving_behind { emit.call }
      run_unit([0])
      FileUtils.touch(sign)

      assert_equal({type: "left behind", error: nil}, heard(@errors, 1).first)
    end

    test "events of the end of a process, as of its producer, are published" do
      emit = emitting("at the end")
      @at_close = ->(_recorder) { emit.call }
      executing(size: 1) { def consume = nil }
      run_unit([0])
      @executor.close(5)
      @executor = nil

      assert_equal({type: "at the end", error: nil}, @errors.pop)
    end

    test "only events of the consumer have it as their caller; how many were dropped is reported" do
      emit = emitting("own", 2)
      many = emitting("many", 1_005)
      executing(size: 1) do
        define_method(:consume) { emit.call(caller: self) && many.call }
      end
      run_unit([0])
      events = drained(@errors)

      assert_equal({["own", true] => 2, ["many", false] => 998, ["worker.process.error", false] => 1},
        events.map { |event| [event[:type], event[:caller].respond_to?(:messages)] }.tally)
      assert_match(/\A7 events of a process of the pool were not published/, events.last[:error].message)
      assert_equal ["orders", 0], events.last.values_at(:topic, :partition)
    end

    test "requests for a revoked partition are ignored" do
      sign = leaving_behind { resume && nil }
      asked = Thread::Queue.new
      @link.define_singleton_method(:request) { |place, _flow| asked << place.partition }
      gone = lane(3)
      run_unit([0], at: gone)
      gone.marks.end_ownership!
      run_unit([1], at: lane(5))
      FileUtils.touch(sign)

      assert_equal [[5], %w[nil nil]], [heard(asked, 1), [told, told]]
      run_unit([2], at: lane(6))
      refute_includes drained(asked), 3
    end

    test "an interrupt reaches user code that waits for a commit" do
      executing(size: 1) do
        def consume = commit_offsets!
      end
      asked, answers = Thread::Queue.new, Thread::Queue.new
      @link.define_singleton_method(:commit) { |*| (asked << true) && answers.pop }
      place = lane
      push(place, unit(place, [0]))
      wait_until(10, "a wish for a commit") { asked.size == 1 }
      @executor.interrupt([place])

      assert_instance_of Interrupted, outcome.error
    ensure
      answers&.close
    end
  end
end
