# frozen_string_literal: true

require "test_helper"
require "penstock/runtime/threads"

module Penstock
  class RuntimeThreadsTest < TestCase
    # Lets other threads run while its thread gets its name.
    class SlowName
      def to_str
        50.times { Thread.pass }
        "slow name"
      end
    end

    def setup
      @reports = []
      @threads = Runtime::Threads.new(->(name, error) { @reports << [name, error.message] })
    end

    test "the code of a thread sees the thread's name and priority from its first line on" do
      seen = nil
      @threads.start(SlowName.new, priority: 2) { seen = [Thread.current.name, Thread.current.priority] }.join

      assert_equal ["slow name", 2], seen
    end

    test "a thread is listed until it has ended" do
      ends = Queue.new
      thread = @threads.start("listed") { ends.pop }
      assert_equal [thread], @threads.living
      ends << true
      thread.join

      assert_empty @threads.living
    end

    test "an error that ends a thread is reported with the thread's name" do
      @threads.start("broken") { raise "oh" }.join

      assert_equal [%w[broken oh]], @reports
      assert_empty @threads.living
    end
  end
end
