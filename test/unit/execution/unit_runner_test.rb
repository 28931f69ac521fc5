# frozen_string_literal: true

require "test_helper"
require "support/executing"
require "penstock/consumer/unit_marks"
require "penstock/processing/admission/prepare"
require "penstock/execution/threads/pool"

module Penstock
  class UnitRunnerTest < TestCase
    include TestSupport::Executing

    def executor(middleware, size)
      Execution::Threads::Pool.new(queue: @queue, runner: runner(middleware), threads: @threads, concurrency: size, priority: 0)
    end

    test "a consumer that can't be created fails its unit like any other user error, and the worker stays" do
      executing(consumer { define_method(:initialize) { raise ArgumentError, "no database" } }, size: 1)
      born = 0
      @threads.define_singleton_method(:start) do |*arguments, **options, &block|
        born += 1
        super(*arguments, **options, &block)
      end
      2.times do
        push(lane, unit(lane, [1, 2]))
        assert_kind_of ArgumentError, outcome.error
      end
      assert_equal 1, born
      assert_equal %w[consumer.consume.error], drained(@errors).map { |each| each[:type] }.uniq
    end

    test "the event of a failed call names its records and the attempt, that of a failed hook doesn't" do
      executing do
        define_method(:consume) { messages.each { |message| raise "no" if message.offset == 2 } }
        define_method(:revoked) { raise "no" }
      end
      place = lane
      [unit(place, [1, 2, 3]), unit(place, [], action: :revoked)].each { |unit| push(place, unit) && outcome(40) }
      call, hook = drained(@errors)

      assert_equal({offset: 2, first_offset: 1, last_offset: 3, attempt: 1},
        call.slice(:offset, :first_offset, :last_offset, :attempt))
      assert_equal %i[caller error partition seek_offset topic type], hook.keys.sort
    end

    test "a hook of a consumer whose class was loaded again is called on an instance of the current class" do
      seen = Queue.new
      classes = [:before, :after].map do |name|
        Class.new(BaseConsumer) { define_method(:consume) { nil } }.tap { |type| type.define_method(:revoked) { seen << name } }
      end
      executing { nil }
      place = lane
      current = 0
      place.topic.define_singleton_method(:consumer) { classes[current] }
      place.topic.define_singleton_method(:outdated?) { |object| !object.instance_of?(classes[current]) }
      [0, 1].each do |index|
        current = index
        push(place, unit(place, [1])) && outcome if index.zero?
        push(place, unit(place, [], action: :revoked)) && outcome(40)
      end

      assert_equal %i[before after], drained(seen)
    end

    # @param requests [Array<Array>] one per instance of the consumer: the method it calls in `tick`, with its arguments
    # @return [Processing::Outcome] of the tick
    def ticked(*requests)
      executing { define_method(:tick) { public_send(*@request) unless @request.empty? } }
      place = lane
      consumers = Consumer::Pool.new { Consumer::Context.new(place, @link) }
      @contexts = requests.map { consumers.take(nil) }
      @contexts.zip(requests) do |context, request|
        context.consumer = @topic.consumer.new.tap { |one| one.penstock_context = context }
        context.consumer.instance_variable_set(:@request, request)
      end
      slot = Execution::RunQueue::Slot.new("orders", consumers, @mailbox)
      runner(Execution::MiddlewareStack.new([])).call(slot, unit(place, [], action: :tick))
    end

    test "of the requests of all instances that run a hook the lowest position and the longest pause count" do
      short, long, endless = [40, 50, Float::INFINITY].map { |timeout| [:pause, :consecutive, timeout] }
      requests = [[[], long, [:seek, 4], []], [%i[seek latest], [:seek, 4], [:seek, 3]],
        [[:seek, 0], %i[seek earliest], long, endless], [[:pause, 3, 50], [:pause, 2, 40]], [short, long],
        [%i[seek latest], [:pause, 9, 50]], [[], []]]
      flows = requests.map { |of_each| ticked(*of_each).flow }
      assert_equal [Consumer::Flow::Seek.new(4, true, 50), Consumer::Flow::Seek.new(3), Consumer::Flow::Seek.new(:earliest, true),
        Consumer::Flow::Pause.new(2, 50), Consumer::Flow::Pause.new(nil, 50), Consumer::Flow::Pause.new(9, 50), nil], flows
    end

    test "a resume that overtakes the outcome of a hook ends its pause, whichever instance resumes" do
      3.times do |index|
        flow = ticked([:pause, :consecutive, Float::INFINITY], [], [:seek, 4]).flow
        @contexts[index].resume
        assert_equal Consumer::Flow::Seek.new(4, true, 0), flow
      end
    end

    test "an instance whose hook fails drops no request of another one" do
      outcome = ticked([:missing], [:seek, 4], [:pause, :consecutive, 50])
      assert_equal [NoMethodError, Consumer::Flow::Seek.new(4, true, 50), true],
        [outcome.error.class, outcome.flow, outcome.frozen?]
    end

    test "the event of a call has the lag: records after the batch, as far as the end of the partition is known" do
      lags = []
      executing { define_method(:consume) { nil } }
      @monitor.subscribe("consumer.consumed") { |event| lags << event[:lag] }
      place = lane
      [nil, 10, 2].each do |log_end|
        place.log_end = log_end
        push(place, unit(place, [1, 2]))
        outcome(40)
      end

      assert_equal [nil, 7, 0], lags
    end

    test "records aren't consumed if a wrap doesn't yield: it raises" do
      executing { define_method(:wrap) { |_action| nil } }
      assert_includes refused.message, "wrap of"
    end

    test "records aren't consumed if a middleware doesn't yield" do
      executing(layers: [->(_consumer, _action, &_core) {}]) { define_method(:consume) { nil } }
      assert_includes refused.message, "a middleware"
    end

    test "a hook that a wrap doesn't call is reported, too" do
      called = []
      executing do
        define_method(:wrap) { |action, &core| core.call if action == :eofed }
        %i[eofed tick revoked shutdown].each { |hook| define_method(hook) { called << hook } }
      end
      place = lane
      errors = %i[eofed tick revoked shutdown].map do |hook|
        push(place, unit(place, [], action: hook))
        outcome(40).error
      end
      reported = drained(@errors)

      assert_equal [:eofed], called
      assert_equal [nil, *[UnsupportedCaseError] * 3], errors.map { |error| error&.class }
      assert_equal %w[consumer.tick.error consumer.revoked.error consumer.shutdown.error], reported.map { |event| event[:type] }
      assert_includes reported.first[:error].message, "tick was not called. Yield for each action"
    end

    def refused
      push(lane, unit(lane, [1, 2]))
      outcome(40).error.tap { |error| assert_kind_of UnsupportedCaseError, error }
    end

    # User code that takes half a second to return that its partition is to wait for 800 ms.
    Asked = Struct.new(:clock) do
      def call(_messages, now_ms)
        clock.monotonic_ms += 500
        Processing::Admission::Prepared.new(hold: [:filter, now_ms + 800]).freeze
      end
    end
    Hand = Struct.new(:monotonic_ms, :wall_ms)

    test "a pause requested by a filter counts from the filter's answer" do
      clock = Hand.new(1_000, 0)
      executing { nil }
      lane = lane()
      prepare = Asked.new(clock)
      lane.define_singleton_method(:prepare) { prepare }
      runner = Execution::UnitRunner.new(monitor: @monitor, middleware: Execution::MiddlewareStack.new([]), clock: clock)
      outcome = runner.call(slot(lane), unit(lane, [1], action: :prepare))
      assert_equal [[:filter, 2_300], 500], [outcome.callback_results.hold, outcome.time_ms]
    end

    test "by key, with manual offsets, a consumer that fails or ends its thread can't mark earlier records" do
      executing do
        define_method(:consume) do
          raise "no" if messages.first.offset == 2
          Thread.exit if messages.first.offset == 4
        end
      end
      @topic.define_singleton_method(:manual_offset_management?) { true }
      place = lane
      consumers = Consumer::Pool.new { Consumer::Context.new(place, @link) }
      cells = (1..5).map do |offset|
        unit = unit(place, [offset])
        unit.marks = Consumer::UnitMarks.new(place.marks)
        push(place, unit, Execution::RunQueue::Slot.new("orders", consumers, @mailbox)) && outcome(40)
        unit.marks
      end

      assert_equal [false, false, false, false, true], cells.map(&:owned?)
      assert place.marks.owned?
    end

    test "a request from outside isn't kept for a unit whose thread was ended by user code" do
      executing { define_method(:consume) { Thread.exit } }
      context = Consumer::Context.new(lane, @link)
      slot = Execution::RunQueue::Slot.new("orders", Consumer::Pool.new { context }, @mailbox)
      push(context.lane, unit(context.lane, [1]), slot)
      assert_kind_of InternalError, outcome.error
      context.pause(nil, nil)
      assert_equal [Consumer::Flow::Pause], @link.requests.map(&:class)
    end
  end
end
