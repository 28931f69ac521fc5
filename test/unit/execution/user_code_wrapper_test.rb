# frozen_string_literal: true

require "test_helper"
require "support/executing"
require "penstock/execution/middleware"
require "penstock/execution/threads/pool"
require "penstock/execution/user_code_wrapper"
require "penstock/processing/admission/prepare"
require "penstock/processing/failure/callback_results"

module Penstock
  class UserCodeWrapperTest < TestCase
    include TestSupport::Executing

    def wrapped(wrapper, &code) = Execution::UserCodeWrapper.new(wrapper).call(:topic, :consume, &code)

    test "the block's value is returned instead of the wrapper's" do
      seen = nil
      value = wrapped(->(*given, &code) { code.call && (seen = given) && 7 }) { 42 }

      assert_equal [42, %i[topic consume]], [value, seen]
    end

    test "the code's error counts, whether the wrapper passes it on, rescues it or raises another" do
      [
        ->(*, &code) { code.call },
        ->(*, &code) { code.call rescue nil }, # rubocop:disable Style/RescueModifier
        lambda do |*, &code|
          code.call
        rescue IOError
          raise "other"
        end
      ].each do |wrapper|
        assert_equal "of the code", assert_raises(IOError) { wrapped(wrapper) { raise IOError, "of the code" } }.message
      end
    end

    test "an error of the wrapper is raised, before the code and after it" do
      ran = 0
      [->(*) { raise "early" }, ->(*, &code) { code.call && raise("late") }].each do |wrapper|
        assert_match(/early|late/, assert_raises(RuntimeError) { wrapped(wrapper) { ran += 1 } }.message)
      end
      assert_equal 1, ran
    end

    test "a wrapper that doesn't yield, or yields twice, is an error that names it" do
      named = Class.new { def call(*) = nil }.tap { |one| one.define_singleton_method(:to_s) { "Borrowing" } }.new
      none = assert_raises(UnsupportedCaseError) { wrapped(named) { 1 } }
      twice = assert_raises(UnsupportedCaseError) { wrapped(->(*, &code) { 2.times { code.call } }) { 1 } }

      assert_includes none.message, "Borrowing, returned without yielding"
      assert_includes twice.message, "a block, yielded twice"
    end

    test "a wrapper added later runs inside the earlier ones, and each must yield" do
      seen = []
      outer, inner = %i[outer inner].map { |name| ->(*, &code) { seen << name && code.call } }
      stack = Execution::MiddlewareStack.new([], around_user_code: [outer, inner])
      assert_equal [7, %i[outer inner]], [stack.wrapper.call(:topic, :consume) { 7 }, seen]

      stack = Execution::MiddlewareStack.new([], around_user_code: [outer, ->(*) {}])
      assert_raises(UnsupportedCaseError) { stack.wrapper.call(:topic, :consume) { 7 } }
      assert_nil Execution::MiddlewareStack.new([], around_user_code: []).wrapper
    end

    test "middleware refuses a wrapper without call, and takes an object or a block" do
      list = Execution::Middleware.new
      error = assert_raises(ArgumentError) { list.change { around_user_code 7 } }
      seen = []
      list.change { around_user_code { |_topic, action, &code| seen << action && code.call } }

      assert_includes error.message, "7 can't wrap user code"
      assert_equal 3, list.to_stack.wrapper.call(:topic, :tick) { 3 }
      assert_equal [:tick], seen
    end

    # Stands for the filters of a route.
    Prepare = Struct.new(:answer) do
      def call(_messages, _now) = Processing::Admission::Prepared.new(hold: [:filter, answer.call])
    end

    def around(actions, fails: [])
      lambda do |_topic, action, &code|
        actions << action
        code.call
        raise "no connection" if fails.include?(action)
      end
    end

    def executor(middleware, size)
      Execution::Threads::Pool.new(queue: @queue, runner: runner(middleware), threads: @threads, concurrency: size, priority: 0)
    end

    test "filters run inside the wrapper, and its error is theirs" do
      actions = []
      executing(around: around(actions, fails: [:prepare]), size: 1) { nil }
      lane = lane()
      lane.define_singleton_method(:prepare) { Prepare.new(-> { 5 }) }
      push(lane, unit(lane, [1, 2], action: :prepare))
      found = outcome

      assert_equal [[:prepare], "no connection", 1], [actions, found.error.message, found.blamed]
    end

    # Decides about failures in the place of the real handler.
    Handler = Struct.new(:given) do
      def extend_consumer(*) = nil
      def forecast(*) = {}

      def call(*)
        given << :asked
        :the_answer
      end

      def quarantine(*)
        given << :quarantined
        [QuarantinedError.new(crashes: 2), :the_letter]
      end
    end

    test "what decides about a failure runs inside the wrapper, whose own error changes nothing about the answer" do
      actions, given = [], []
      executing { define_method(:consume) { raise "no" } }
      stack = Execution::MiddlewareStack.new([], around_user_code: [around(actions, fails: %i[failure quarantine])])
      runner = Execution::UnitRunner.new(monitor: @monitor, middleware: stack, clock: Clock::SYSTEM,
        failure_handler: Handler.new(given))
      place = lane
      failed = runner.call(slot(place), unit(place, [1]))
      suspect = unit(place, [2]).tap { |unit| unit.crashes = 2 }
      quarantined = runner.call(slot(place), suspect)

      assert_equal %i[consume failure quarantine], actions
      assert_equal %i[the_answer the_letter], [failed, quarantined].map(&:callback_results)
      assert_equal %i[asked quarantined], given
      assert_equal %w[consumer.consume.error consumer.error_callback.error consumer.error_callback.error],
        drained(@errors).map { _1[:type] }
    end
  end
end
