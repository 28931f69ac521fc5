# frozen_string_literal: true

require "test_helper"
require "penstock/native/fork"
require "penstock/native/lock_meter"

module Penstock
  module Native
    # Real threads and Ruby's real lock; core/lock_meter_test.c tests what is counted. Waits are measured from Ruby 3.2 on.
    class LockMeterTest < TestCase
      def setup = LockMeter.start
      def teardown = LockMeter.stop

      test "a thread that sleeps is busy, and neither waits for the lock nor holds it" do
        busy, waited, held = on_threads(1) { wait_for_something_else(0.1) }.first

        assert_operator busy, :>=, 0.1
        assert_operator waited, :<, busy / 2
        assert_operator held || 0, :<, busy / 2
      end

      test "threads that compute hold the lock in turns and wait for it otherwise" do
        figures = on_threads(4) { compute(0.15) }
        busy, waited, held = figures.transpose.map(&:sum)

        assert_operator held, :>=, 4 * 0.15 if held_known?
        assert_operator busy, :>, 4 * 0.15
        LockMeter.hooks? ? assert_operator(waited, :>, busy / 2) : assert_equal(0, waited)
      end

      test "a wait that has not ended is counted" do
        skip "this Ruby reports no waits" unless LockMeter.hooks?
        opened, go = Thread::Queue.new, Thread::Queue.new
        thread = Thread.new do
          meter = LockMeter.open
          meter.busy
          opened << meter
          go.pop
        ensure
          meter.close
        end
        meter = opened.pop
        go << true
        compute(0.05) # the other thread wants the lock, and doesn't get it before its time slice
        waited = meter.read[1]
        thread.join

        assert_operator waited, :>, 0
      end

      test "the figures of a closed meter stay" do
        figures = nil
        meter = Thread.new {
          LockMeter.open.tap do |one|
            one.busy
            compute(0.01)
            one.close
            figures = one.read
          end
        }.value

        assert_operator figures.first, :>, 0
        observe_for(0.02) { assert_equal figures, meter.read }
        meter.busy
        meter.idle
        assert_equal figures, meter.read
        assert_nil meter.close
      end

      test "a thread has one meter, which it closes itself" do
        Thread.new {
          meter = LockMeter.open
          assert_match(/has a lock meter already/, assert_raises(ThreadError) { LockMeter.open }.message)
          assert_match(/closed by the thread that opened it/, Thread.new {
            assert_raises(ThreadError) { meter.close }
          }.value.message)
          meter.close
          LockMeter.open.close
        }.join
        assert_raises(NoMethodError) { LockMeter.new }
        assert_raises(TypeError) { LockMeter.allocate }
      end

      test "meters of many threads that begin, are killed and are collected while others are read" do
        meters = Thread::Queue.new
        8.times do
          threads = Array.new(20) { Thread.new { metered(meters) { compute(0.001) && wait_for_something_else(0.01) } } }
          threads.each_slice(2) { |killed, _left| killed.kill }
          Array.new(meters.size) { meters.pop }.each { |meter| assert_equal 3, meter.read.size }
          GC.start
          threads.each(&:join)
        end

        assert_operator on_threads(1) { compute(0.005) }.first.first, :>=, 0.005
      end

      test "measuring begins and ends while threads wait for the lock" do
        done = false
        threads = Array.new(2) { Thread.new { metered { compute(0.001) until done } } }
        8.times do
          LockMeter.start
          Thread.pass
          LockMeter.stop
        end
        LockMeter.stop
        4.times do
          LockMeter.start
          Thread.pass
          LockMeter.stop
        end
        LockMeter.start
        done = true

        assert(threads.all? { |thread| thread.join(30) })
      end

      test "in the child of a fork, meters of the parent's threads are readable and new ones count" do
        opened = Thread::Queue.new
        ends = Thread::Queue.new
        thread = Thread.new { metered(opened) { ends.pop } }
        parents = opened.pop
        reader, writer = IO.pipe
        pid = fork do
          reader.close
          LockMeter.start
          own = on_threads(2) { compute(0.02) }
          LockMeter.stop
          2.times { LockMeter.stop }
          writer.write(Marshal.dump([parents.read.size, own.flatten.compact.all? { |seconds| seconds >= 0 }, own.first.first]))
          exit!(0)
        end
        writer.close
        size, valid, busy = Marshal.load(reader.read)
        Process.wait(pid)
        ends << true
        thread.join

        assert_predicate $?, :success?
        assert_equal [3, true], [size, valid]
        assert_operator busy, :>=, 0.02
      ensure
        reader&.close
      end

      test "a thread that forks in its work closes its meter in the child" do
        reader, writer = IO.pipe
        thread = Thread.new do
          metered do
            pid = fork { exit!(0) if writer.write("child") }
            Process.wait(pid)
          end
        end
        thread.join
        writer.close

        assert_equal "child", reader.read
      ensure
        reader&.close
      end

      test "measuring doesn't concern threads of a ractor" do
        code = <<~RUBY
          Warning[:experimental] = false
          require "penstock/native/lock_meter"
          Penstock::Native::LockMeter.start
          ractor = Ractor.new { Array.new(3) { Thread.new { 20_000.times { Object.new } } }.each(&:join) && 1 }
          meter = Penstock::Native::LockMeter.open
          meter.busy
          20_000.times { Object.new }
          print ractor.respond_to?(:value) ? ractor.value : ractor.take
          meter.close
          Penstock::Native::LockMeter.stop
        RUBY
        output = IO.popen([RbConfig.ruby, "-I", File.expand_path("../../lib", __dir__), "-e", code], err: [:child, :out], &:read)

        assert_equal "1", output
      end

      private

      # @return [Array<Array<Float, nil>>] busy, waited, held of each thread, in seconds
      def on_threads(count, &work)
        threads = Array.new(count) do
          Thread.new { metered(&work).read.map { |nanoseconds| nanoseconds && nanoseconds / 1e9 } }
        end
        threads.map(&:value)
      end

      def metered(meters = nil)
        meter = LockMeter.open
        meters << meter if meters
        meter.busy
        yield
        meter.idle
        meter
      ensure
        meter.close
      end

      def wait_for_something_else(seconds) = IO.select(nil, nil, nil, seconds)

      # @param seconds [Float] of CPU time of this thread
      def compute(seconds)
        ends = cpu_seconds + seconds
        nil while cpu_seconds < ends
        true
      end

      def cpu_seconds = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)

      def held_known? = RUBY_PLATFORM.include?("linux")
    end
  end
end
