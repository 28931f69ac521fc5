# frozen_string_literal: true

require "test_helper"
require "timeout"
require "support/executing"
require "penstock/execution/middleware_stack"
require "penstock/execution/threads/pool"

module Penstock
  class MiddlewareStackTest < TestCase
    include TestSupport::Executing

    # A consumer as the stack sees it.
    Wrapping = Struct.new(:body) do
      def wrap(action, &) = body.call(action, &)
    end

    def setup = @seen = []

    # @param layers [Array<#call>]
    def call(wrap, *layers, &code) = Execution::MiddlewareStack.new(layers).call(Wrapping.new(wrap), :consume, &code)

    def rescuing
      lambda do |_action, &code|
        code.call
        @seen << :after
      rescue Exception => error # rubocop:disable Lint/RescueException -- sees as much as a wrap can
        @seen << error.class
      end
    end

    def executor(middleware, size)
      Execution::Threads::Pool.new(queue: @queue, runner: runner(middleware), threads: @threads, concurrency: size, priority: 0)
    end

    test "an error of the code doesn't reach wrap, which continues after its yield, and is raised when wrap has ended" do
      [IOError, NotImplementedError, SystemStackError, SystemExit, FencedError].each do |type|
        assert_raises(type) { call(rescuing) { raise type.allocate } }
      end

      assert_equal [:after] * 5, @seen
    end

    test "middleware around wrap sees the code's error" do
      layer = lambda do |_consumer, _action, &inner|
        inner.call
      rescue IOError => error
        @seen << error.message
        raise
      end
      assert_raises(IOError) { call(rescuing, layer) { raise IOError, "of the code" } }

      assert_equal [:after, "of the code"], @seen
    end

    test "an error of wrap is raised; if the code has failed before, the code's error is, with its own cause" do
      late = lambda do |_action, &code|
        code.call
        raise "of wrap"
      end
      both = assert_raises(IOError) { call(late) { raise IOError, "of the code" } }

      assert_equal "of wrap", assert_raises(RuntimeError) { call(late) { 1 } }.message
      assert_equal "of wrap", assert_raises(RuntimeError) { call(->(_action) { raise "of wrap" }) { flunk } }.message
      assert_equal ["of the code", nil], [both.message, both.cause]
    end

    test "after an error the code doesn't run again, however often wrap yields; without one it does" do
      twice = ->(_action, &code) { 2.times { code.call } }
      call(twice) { @seen << :done }
      assert_raises(IOError) { call(twice) { (@seen << :failed) && raise(IOError) } }

      assert_equal %i[done done failed], @seen
    end

    test "yield returns what the code returned, and call what wrap returned" do
      assert_equal [7, :of_wrap], [call(->(_action, &code) { (@seen << code.call) && :of_wrap }) { 7 }].unshift(@seen.last)
    end

    test "interrupts pass through wrap, before the code has ended and after it has failed" do
      [Interrupted, TimeLimitExceeded].each do |type|
        assert_equal [type], call(rescuing) { raise type, "now" }.then { @seen.slice!(0..) }
        late = ->(_action, &code) { code.call || raise(type, "later") }
        assert_raises(type) { call(late) { raise IOError } }
      end
    end

    test "throw passes through wrap; a timeout around the yield is wrap's own" do
      assert_equal :thrown, catch(:out) { call(rescuing) { throw :out, :thrown } }
      timed = lambda do |_action, &code|
        Timeout.timeout(0.05) { code.call }
      rescue Timeout::Error
        @seen << :timeout
      end
      call(timed) { Thread::Queue.new.pop }

      assert_equal [:timeout], @seen
    end

    test "in a transaction that wrap has begun the error passes through it, so that it's aborted, and counts all the same" do
      in_transaction = ->(action, &code) { rescuing.call(action) { TransactionScope.enter(&code) } }
      assert_raises(IOError) { call(in_transaction) { raise IOError } }
      assert_equal [IOError], @seen
      assert_equal [IOError, AbortTransaction], call(in_transaction) { raise AbortTransaction }
      assert_raises(AbortTransaction) { call(rescuing) { raise AbortTransaction } }
    end

    test "the error is blamed on the record that failed, even if wrap iterates the messages after it" do
      executing do
        define_method(:wrap) { |_action, &code| code.call && nil || messages.each(&:offset) }
        define_method(:consume) { messages.each { |message| raise "no" if message.offset == 2 } }
      end
      found = run_unit([1, 2, 3])

      assert_equal ["no", 2], [found.error.message, found.blamed]
      assert_equal [["consumer.consume.error", 2]], drained(@errors).map { |event| event.values_at(:type, :offset) }
    end
  end
end
