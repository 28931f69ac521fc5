# frozen_string_literal: true

require "test_helper"
require "socket"
require "penstock/execution/processes/channel"

module Penstock
  class ExecutionProcessChannelTest < TestCase
    Channel = Execution::Processes::Channel
    Late = Class.new(StandardError)
    # More than a socket takes while nobody reads.
    LARGE = ("x" * 4_000_000).b.freeze

    def before_setup
      super
      @channel, @other = UNIXSocket.pair.map { |socket| Channel.new(socket) }
    end

    def after_teardown
      [@channel, @other].each(&:close)
      super
    end

    # @return [Thread] waits until somebody reads
    def sending
      thread = Thread.new do
        @channel.send_frame(:request, LARGE)
      rescue Late, SystemCallError => error
        error
      end
      wait_until(10, "a write that waits", state: -> { thread.status }) { @other.socket.wait_readable(0) && thread.stop? }
      thread
    end

    # @return [Array<Array(Symbol, Integer)>] type and size of the frames
    def frames(count)
      found = []
      wait_until(10, "#{count} frames", state: -> { found }) do
        @other.read(0) { |type, body| found << [type, body.bytesize] }
        found.size >= count
      end
      found
    end

    test "frames that are collected are written with the next one that is sent, in their order" do
      @channel.collect(:done, "first")
      assert_nil @other.read(0)
      @channel.send_frame(:request, "second")
      assert_equal [[:done, 5], [:request, 6]], frames(2)
    end

    test "an interrupt during a write takes effect after it: the frame, and those collected before, arrive whole" do
      @channel.collect(:done, "first")
      thread = sending
      thread.raise(Late)
      assert_equal [[:done, 5], [:request, LARGE.bytesize]], frames(2)
      assert_instance_of Late, thread.value

      @channel.send_frame(:done, "last")
      assert_equal [[:done, 4]], frames(1)
    end

    test "a frame that is offered is sent at once, after those collected before" do
      @channel.collect(:done, "first")
      assert @channel.offer(:returned, "second")
      assert_equal [[:done, 5], [:returned, 6]], frames(2)
    end

    test "a frame that is offered while another one waits to be read is sent later" do
      thread = sending
      refute @channel.offer(:returned, "x")
      assert_equal [[:request, LARGE.bytesize]], frames(1)
      thread.join
      @channel.flush
      assert_equal [[:returned, 1]], frames(1)
    end

    test "of a large frame that is offered the rest is sent later, before others" do
      refute @channel.offer(:returned, LARGE)
      @channel.collect(:done, "last")
      thread = Thread.new { @channel.flush }
      assert_equal [[:returned, LARGE.bytesize], [:done, 4]], frames(2)
      thread.join
    end

    test "a kill during a write takes effect after it" do
      thread = sending.kill
      assert_equal [[:request, LARGE.bytesize]], frames(1)
      assert thread.join(10)
    end

    test "a write that waits ends when the other end is closed" do
      thread = sending
      @other.close
      assert_kind_of SystemCallError, thread.value
    end
  end
end
