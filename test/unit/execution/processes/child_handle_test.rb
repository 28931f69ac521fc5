# frozen_string_literal: true

require "test_helper"
require "socket"
require "penstock/execution/processes/channel"
require "penstock/execution/processes/child_handle"

module Penstock
  # The other end stays open, as if user code had forked a process that inherited it.
  class ExecutionProcessChildHandleTest < TestCase
    # Reports a child's end once, as the real one does.
    Mold = Struct.new(:reported, :killed) do
      def ended(_pid, _timeout_s)
        found = reported
        self.reported = nil
        found
      end

      def kill(pid) = self.killed = pid
    end

    def before_setup
      super
      ours, theirs = UNIXSocket.pair
      @other = Execution::Processes::Channel.new(theirs)
      @mold = Mold.new
      @status = Execution::Processes::SharedStatus.create
      @child = Execution::Processes::ChildHandle.new(17, Execution::Processes::Channel.new(ours), @status, @mold)
    end

    def after_teardown
      [@other, @child].each(&:close)
      super
    end

    test "a silent child whose end the mold has reported is gone, although its socket is open" do
      assert_nil @child.read(0)
      refute_predicate @child, :gone?
      @mold.reported = [9, nil]
      assert_equal [false, true, [9, nil]], [@child.read(0), @child.gone?, @child.status]
    end

    test "what a child has sent before its end is read first" do
      read = []
      @mold.define_singleton_method(:ended) { |pid, seconds| super(pid, seconds) if read.any? }
      @mold.reported = [9, nil]
      @other.send_frame(:done, "1")
      answers = Array.new(2) { @child.read(0) { |_type, body| read << body } }
      assert_equal [[true, false], ["1"]], [answers, read]
    end

    test "a frame that is sent between the last look and the end is read, too" do
      read = []
      other = @other
      @mold.reported = [9, nil]
      @mold.define_singleton_method(:ended) { |pid, seconds| super(pid, seconds).tap { other.send_frame(:done, "1") } }
      answers = Array.new(2) { @child.read(0) { |_type, body| read << body } }
      assert_equal [[true, false], ["1"]], [answers, read]
    end

    test "sending a large unit to a child that has ended meanwhile ends" do
      @child.unit("x" * 4_000_000)
      thread = Thread.new { @child.flush }
      wait_until(10, "a write that waits", state: -> { thread.status }) { @other.socket.wait_readable(0) && thread.stop? }
      @mold.reported = [9, nil]
      assert thread.join(10)
      assert_equal false, @child.read(0)
    end

    test "a child is killed unless its end has been reported" do
      @child.kill
      assert_equal 17, @mold.killed
      @mold.killed = nil
      @mold.reported = [9, nil]
      2.times { @child.kill }
      assert_nil @mold.killed
    end
  end
end
