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
      def initialize = @fates = Queue.new
      def resolve(fate) = @fates << fate

      def wait_urgently(_timeout_ms)
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
      refute @watch.take_news
      handle.resolve(true)
      assert @wakes.pop
      assert_equal [true, true, false, false], [@watch.news?, @watch.take_news, @watch.take_news, @watch.news?]
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
