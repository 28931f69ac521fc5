# frozen_string_literal: true

require "test_helper"
require "penstock/runtime/loop/mailbox"

module Penstock
  class MailboxTest < TestCase
    def setup
      @wakes = 0
      @mailbox = Runtime::Mailbox.new
      @mailbox.wake = -> { @wakes += 1 }
    end

    def outcome(**fields) = Processing::Outcome.new(finished: true, **fields)

    test "while the loop is calm a successful outcome doesn't wake it, and is read with the next message" do
      refute @mailbox.begin_wait(true)
      @mailbox.post(first = outcome)
      assert_equal 0, @wakes
      @mailbox.post(second = outcome(error: RuntimeError.new))
      assert_equal 1, @wakes
      assert_equal [first, second], @mailbox.take_all
    end

    test "the loop doesn't wait while quietly posted messages are there, once it isn't calm any more" do
      @mailbox.begin_wait(true)
      @mailbox.post(outcome)
      assert @mailbox.begin_wait(false)
      @mailbox.post(outcome)
      assert_equal 1, @wakes
    end

    test "a request and a stop wake the loop even if it is calm" do
      @mailbox.begin_wait(true)
      @mailbox.post(:stop)
      @mailbox.post(Runtime::Mailbox::Request.new(nil, :commit))

      assert_equal 2, @wakes
    end

    test "the loop doesn't wait while other messages are there: they may be older than the connection that could be woken" do
      @mailbox.post(:quiet)
      assert @mailbox.begin_wait(true)
      @mailbox.take_all
      @mailbox.post_quietly(outcome)
      refute @mailbox.begin_wait(true)
      @mailbox.post_quietly(outcome(error: RuntimeError.new))
      assert @mailbox.begin_wait(true)
    end

    test "a loop without a connection is woken, too, for outcomes that were posted quietly" do
      loop_thread = Thread.new { @mailbox.wait(60_000) }
      wait_until(10, "the loop to wait") { loop_thread.stop? }
      @mailbox.post_quietly(ended = outcome)
      @mailbox.wake_up
      assert loop_thread.join(20), "it still waits"

      assert_same ended, loop_thread.value
    ensure
      loop_thread&.kill
    end

    test "messages that were taken and not handled come first the next time" do
      3.times { |number| @mailbox.post(number.to_s.to_sym) }
      taken = @mailbox.take_all
      taken.shift
      @mailbox.post(:last)
      @mailbox.put_back(taken)

      assert_equal %i[1 2 last], @mailbox.take_all
    end

    test "a thread that waits for an answer from a closed mailbox gets false" do
      wait = Runtime::CommitWait.new(nil, 0)
      @mailbox.close
      @mailbox.post(wait)

      refute wait.wait(0.01)
    end
  end
end
