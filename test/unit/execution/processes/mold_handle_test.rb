# frozen_string_literal: true

require "test_helper"
require "penstock/execution/processes/child_context"
require "penstock/execution/processes/mold_handle"
require "penstock/runtime/threads"

module Penstock
  class MoldHandleTest < TestCase
    # A handle whose mold answers one request, on a thread of this process: it has no processes left.
    def with_exhausted_mold
      ours, theirs = UNIXSocket.pair
      mold = Execution::Processes::Mold.new(Execution::Processes::ChildContext.new, theirs)
      mold.define_singleton_method(:fork) { raise Errno::EAGAIN }
      answering = Thread.new { mold.send(:request) }
      handle = Execution::Processes::MoldHandle.new(::Process.pid, ours)
      handle.start(Runtime::Threads.new(->(*) {})) { @lost = true }
      yield handle
    ensure
      answering&.join
      theirs&.close
      handle&.close
    end

    test "a mold that can't fork reports why, and lives" do
      with_exhausted_mold do |handle|
        error = assert_raises(Execution::Processes::NoChild) { handle.child }

        assert_match(/\Acan't create a process for run_on :processes: Resource temporarily unavailable \(Errno::EAGAIN\)/,
          error.message)
        assert_kind_of Errno::EAGAIN, error.cause
        refute @lost
      end
    end

    test "a shortage of this process isn't the mold's end" do
      with_exhausted_mold do |handle|
        handle.define_singleton_method(:request_child) { |*| raise Errno::EMFILE }
        assert_match(/Too many open files/, assert_raises(Execution::Processes::NoChild) { handle.child }.message)
        handle.singleton_class.remove_method(:request_child)
        assert_raises(Execution::Processes::NoChild) { handle.child }
      end
    end

    test "the end of the mold is named" do
      ours, theirs = UNIXSocket.pair
      theirs.close
      handle = Execution::Processes::MoldHandle.new(1_234, ours)

      assert_match(/process 1234, from which others are forked, is gone/,
        assert_raises(Execution::Processes::NoChild) { handle.child }.message)
    ensure
      ours.close
    end
  end
end
