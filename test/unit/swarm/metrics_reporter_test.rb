# frozen_string_literal: true

require "test_helper"
require "penstock/runtime/threads"
require "penstock/swarm/metrics_reporter"

module Penstock
  module Swarm
    class MetricsReporterTest < TestCase
      def setup
        super
        @file = MetricsFile.open
        @errors = []
        @calls = 0
        @threads = Runtime::Threads.new(->(_name, error) { raise error })
      end

      def teardown
        wait_until(20) { @threads.living.empty? }
        @file.close
        super
      end

      def reporter(interval_ms: 60_000, file: @file)
        MetricsReporter.new(file, 1, interval_ms: interval_ms, failed: ->(error) { @errors << error.message },
          snapshot: -> { {"calls_total" => [[[], [@calls += 1]]]} })
      end

      def calls = @file.read(1)&.snapshot&.then { |found| found["calls_total"][0][1][0] }

      test "it reports at once, then at each interval, and once more when it is closed" do
        quick = reporter(interval_ms: 5).start(@threads)
        wait_until(20) { @calls > 3 }
        quick.close
        last = @calls

        assert_equal last, calls
        slow = reporter.start(@threads)
        wait_until(20) { calls == last + 1 }
        slow.close
        assert_equal last + 2, calls
      end

      test "two halves are written in turns, by one process with one time of its beginning" do
        one = reporter
        reports = Array.new(3) { one.write && nil || @file.read(1) }

        assert_equal [1, 2, 3], reports.map { |report| report.snapshot["calls_total"][0][1][0] }
        assert_equal [reports[0].process], reports.map(&:process).uniq
        assert_equal reports.map(&:at).sort.uniq, reports.map(&:at)
        assert_equal ::Process.pid, reports[0].process.first
      end

      test "a full file system is reported once until a report succeeds, and doesn't end the node" do
        full = true
        file = @file
        disk = Object.new
        disk.define_singleton_method(:write) { |*arguments| full ? raise(Errno::ENOSPC) : file.write(*arguments) }
        one = reporter(file: disk)
        2.times { one.write }
        assert_equal ["No space left on device"], @errors
        full = false
        one.write
        assert_equal 3, calls
        full = true
        one.write
        assert_equal 2, @errors.size
      end

      test "a disk that doesn't answer holds up the node's end no longer than the limit" do
        answer = Queue.new
        disk = Object.new
        disk.define_singleton_method(:write) { |*| answer.pop }
        one = reporter(file: disk).start(@threads)
        wait_until(20) { answer.num_waiting == 1 }
        one.close(0.01)

        assert_equal 1, answer.num_waiting
      ensure
        answer << true
      end

      test "a process that was forked from the node doesn't report for it" do
        one = reporter
        one.write
        child = fork do
          one.write
          one.close
          exit!((@calls == 1) ? 0 : 1)
        end
        ::Process.wait(child)

        assert_equal [0, 1], [$?.exitstatus, calls]
      end
    end
  end
end
