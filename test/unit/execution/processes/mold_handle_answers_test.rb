# frozen_string_literal: true

require "test_helper"
require "io/wait"
require "socket"
require "penstock/execution/processes/mold_handle"
require "penstock/runtime/threads"

module Penstock
  # The other end of the socket is a mold that forks nothing.
  class ExecutionProcessMoldHandleTest < TestCase
    Processes = Execution::Processes

    def before_setup
      super
      ours, @socket = UNIXSocket.pair
      @mold = Processes::Channel.new(@socket)
      @handle = Processes::MoldHandle.new(::Process.pid, ours, forking_s: 0.01) # of a process that is no child
      @handle.start(Runtime::Threads.new(->(*) {})) { flunk }
    end

    def after_teardown
      @mold.close
      @handle.close
      super
    end

    # @return [UNIXSocket] the child's
    def requested
      socket = @socket.recv_io(UNIXSocket)
      @socket.recv_io(File, "r+b").close
      socket
    end

    # @return [Integer] the pid of a child
    # @yield answers the request
    def child
      @handle.instance_variable_set(:@forking_s, 10)
      asking = Thread.new { @handle.child.tap(&:close) }
      requested.close
      yield
      asking.value.pid
    end

    test "the answer to a request that was abandoned isn't taken for the next one's, and its process finds its socket closed" do
      assert_raises(Execution::Processes::NoChild) { @handle.child }
      socket = requested
      @mold.send_value(:forked, [1, 101])
      assert_equal 102, child { @mold.send_value(:forked, [2, 102]) }
      assert_equal [socket, nil], [socket.wait_readable(10), socket.read(1)]
    ensure
      socket&.close
    end

    test "an abandoned request that is answered after the next one has been made isn't taken for that one either" do
      assert_raises(Execution::Processes::NoChild) { @handle.child }
      requested.close
      found = child do
        @mold.send_value(:forked, [1, 101])
        @mold.send_value(:forked, [2, 102])
      end
      assert_equal 102, found
    end

    test "the end of an earlier process with the same id isn't the end of this one" do
      @mold.send_value(:ended, [101, 9, nil])
      assert_equal 101, child { @mold.send_value(:forked, [1, 101]) }
      assert_nil @handle.ended(101, 0)
      @mold.send_value(:ended, [101, nil, 0])
      assert_equal [nil, 0], @handle.ended(101, 10)
    end
  end
end
