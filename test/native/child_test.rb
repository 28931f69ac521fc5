# frozen_string_literal: true

require "test_helper"
require "io/wait"
require "penstock/native/child"
require "penstock/native/death_pipe"

module Penstock
  module Native
    class ChildTest < TestCase
      def setup
        super
        @children = []
      end

      def teardown
        ENV.delete("PENSTOCK_NO_PIDFD")
        @children.each do |child|
          child.signal(:KILL)
          wait_until(20, "the child's end") { child.reap }
          child.close
        end
        super
      end

      # @return [Child] that is running
      def child(&body)
        began, begins = IO.pipe
        pid = fork do
          began.close
          trap(:TERM, "SYSTEM_DEFAULT")
          begins.write(".")
          body ? yield : IO.select(nil)
        ensure
          exit!(0)
        end
        begins.close
        began.read(1)
        Child.new(pid).tap { |child| @children << child }
      ensure
        began.close
      end

      # valgrind doesn't support the call.
      def pidfds? = RUBY_PLATFORM.include?("linux") && ENV["PENSTOCK_VALGRIND"].nil?

      def assert_ends(child, how)
        wait_until(20, "the child's end") { !child.alive? }
        assert_equal how, child.reap
        refute child.signal(:TERM), "a signal found somebody"
      end

      {"with pidfds" => nil, "without pidfds" => "1"}.each do |words, switch|
        test "#{words}: a child gets signals while it lives, and no other process does afterwards" do
          ENV["PENSTOCK_NO_PIDFD"] = switch
          child = self.child

          assert child.alive?
          assert child.signal(:CONT)
          assert_equal switch.nil? && pidfds?, !child.io.nil?
          assert child.signal("TERM")
          assert_ends(child, [nil, Signal.list.fetch("TERM")])
        end
      end

      test "a child's end wakes the waiting thread, and leaves no zombie" do
        skip "no pidfds here" unless pidfds?
        child = child { exit!(7) }

        assert IO.select([child.io], nil, nil, 20 * TestSupport::Wait::TIME_FACTOR), "no end was told"
        assert_equal [7, nil], child.reap
        refute File.exist?("/proc/#{child.pid}"), "not waited for"
      end

      test "a child that other code has waited for has ended, with an unknown result" do
        child = child { exit!(7) }
        ::Process.wait(child.pid)

        assert_ends(child, [nil, nil])
      end

      # Simulates a kernel that has only one of the two calls, or a sandbox that allows only one. The call by number is prctl:
      # no new privileges, then a filter of these instructions: waitid (`number`) on a descriptor (3) fails with `errno`.
      def refuse_pidfd_waits(errno)
        prctl, number = {"x86_64" => [157, 247], "aarch64" => [167, 95]}.fetch(RUBY_PLATFORM[/\w+/])
        steps = [[0x20, 0, 0, 0], [0x15, 0, 3, number], [0x20, 0, 0, 16], [0x15, 0, 1, 3], [6, 0, 0, 0x50000 | errno],
          [6, 0, 0, 0x7fff0000]]
        filter = steps.map { |step| step.pack("SCCL") }.join
        program = [steps.size, filter].pack("Sx6P")
        syscall(prctl, 38, 1, 0, 0, 0)
        syscall(prctl, 22, 2, [program].pack("P").unpack1("J"))
      end

      # @return [Array] whether it has a descriptor, is alive, was sent a signal; how it ended
      def child_beside_a_filter(errno)
        refuse_pidfd_waits(errno)
        child = Child.new(pid = fork { exec("tail", "-f", File::NULL, out: File::NULL) })
        found = [child.io.nil?, child.alive?, child.signal(:KILL)]
        ::Process.kill(:KILL, pid) unless found.last
        wait_until(20) { !child.alive? }
        [*found, child.reap]
      end

      [Errno::EINVAL, Errno::EPERM].each do |error|
        test "where a descriptor can be opened but not waited for (#{error}) a live child isn't taken for an ended one" do
          skip "no pidfds here" unless pidfds? && RUBY_PLATFORM.match?(/\A(x86_64|aarch64)/)
          reader, writer = IO.pipe
          pid = fork do
            $VERBOSE = nil # Ruby's warning about calls by number
            writer.write(child_beside_a_filter(error::Errno).inspect)
          rescue SystemCallError, NotImplementedError
            writer.write("no filter")
          ensure
            exit!(0)
          end
          writer.close
          found = reader.read
          ::Process.wait(pid)
          skip "no filters here" if found == "no filter"

          assert_equal [true, true, true, [nil, 9]].inspect, found
        ensure
          reader&.close
        end
      end

      test "an unknown process id isn't signalled, and no number means a process group" do
        assert_equal [nil, nil], Child.allocate.reap
        refute Child.allocate.signal(:TERM)
        assert_raises(ArgumentError) { Child.new(0) }
        assert_raises(ArgumentError) { Child.new(-1) }
      end

      # In a process that computes while it holds Ruby's lock.
      {"in Ruby" => -> { loop { nil } }, "in C" => -> { loop { ("a" * 40).match?(/(a|a|b?)*\1c/) } }}.each do |place, spin|
        test "a process that spins #{place} ends 0.3 s after its parent closed the death pipe" do
          reader, writer = IO.pipe
          child = child do
            writer.close
            DeathPipe.watch(reader, grace_ms: 300)
            spin.call
          end
          writer.close

          assert_ends(child, [3, nil])
        ensure
          [reader, writer].each(&:close)
        end
      end

      test "a process that disarmed the death pipe ends normally" do
        reader, writer = IO.pipe
        child = child do
          writer.close
          DeathPipe.watch(reader, grace_ms: 10_000)
          reader.wait_readable
          DeathPipe.disarm
          exit!(9)
        end
        writer.close

        assert_ends(child, [9, nil])
      ensure
        [reader, writer].each(&:close)
      end
    end
  end
end
