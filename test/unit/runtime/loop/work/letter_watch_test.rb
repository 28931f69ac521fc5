# frozen_string_literal: true

require "test_helper"
require "support/wait"
require "penstock/runtime/loop/work/letter_watch"
require "penstock/runtime/loop/mailbox"
require "penstock/runtime/threads"

module Penstock
  # The thread that waits for acknowledgements of dead letters.
  class LetterWatchTest < TestCase
    include TestSupport::Wait

    # A handle whose fate a test decides.
    class Handle
      def initialize
        @fates = Queue.new
        @waits = []
      end

      attr_reader :waits

      def resolve(fate) = @fates << fate
      def wait_urgently(_timeout_ms) = wait(:urgently)
      def await(_timeout_ms) = wait(:patiently)

      private

      def wait(how)
        @waits << how
        fate = @fates.pop
        raise fate if fate.is_a?(Exception)
        fate
      end
    end

    def setup
      @wakes = Queue.new
      mailbox = Runtime::Mailbox.new
      mailbox.wake = -> { @wakes << true }
      @threads = Runtime::Threads.new(->(name, error) { flunk "#{name}: #{error.inspect}" })
      @watch = Runtime::LetterWatch.new(@threads, mailbox)
    end

    def teardown
      @watch.close
      @threads.living.each { |thread| thread.join(10) }
    end

    test "the loop is woken when a letter's fate is known, and hears of it once" do
      @watch.add(handle = Handle.new)
      refute @watch.take_done
      handle.resolve(true)
      assert @wakes.pop
      assert_equal [true, true, false, false], [@watch.done?, @watch.take_done, @watch.take_done, @watch.done?]
    end

    test "a letter that takes longer than others doesn't keep them" do
      slow, fast = Handle.new, Handle.new
      @watch.add(slow)
      @watch.add(fast)
      slow.resolve(false)
      fast.resolve(true)
      assert @wakes.pop
      slow.resolve(true)
      assert @wakes.pop
    end

    test "a handle that can't be waited for any more is left to the loop" do
      @watch.add(handle = Handle.new)
      handle.resolve(ForkedHandleError.new("another process"))
      assert @wakes.pop
    end

    test "a producer stops lingering for a letter only at first" do
      @watch.add(handle = Handle.new)
      3.times { handle.resolve(false) }
      handle.resolve(true)
      assert @wakes.pop
      assert_equal %i[urgently patiently patiently patiently], handle.waits
    end

    test "where no thread can be started the letters are left to the loop, and the next letter tries again" do
      refusals = [ThreadError.new("can't create Thread: Resource temporarily unavailable")]
      start = @threads.method(:start)
      @threads.define_singleton_method(:start) { |name, &block| (error = refusals.pop) ? raise(error) : start.call(name, &block) }
      @watch.add(Handle.new)
      assert_empty @threads.living
      @watch.add(handle = Handle.new)
      handle.resolve(true)
      assert @wakes.pop
    end

    test "a thread that was ended is replaced" do
      @watch.add(lost = Handle.new)
      wait_until(10, "the first wait") { lost.waits.any? }
      @threads.living.each { |thread| thread.kill.join(10) }
      @watch.add(handle = Handle.new)
      handle.resolve(true)
      assert @wakes.pop
    end

    test "letters that another thread sends need no thread" do
      @watch.add(Object.new)
      assert_empty @threads.living
    end

    test "the thread ends when the connection does" do
      @watch.add(handle = Handle.new)
      handle.resolve(true)
      @wakes.pop
      @watch.close
      assert wait_until(10, "the end of the thread") { @threads.living.empty? }
    end
  end
end
