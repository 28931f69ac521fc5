# frozen_string_literal: true

require "test_helper"
require "penstock/native"
require "support/ruby_program"

module Penstock
  module Native
    # The output on stderr of a process that a fatal signal ends.
    class CrashTest < TestCase
      # A member of a group that has its partitions; then the code is run.
      PROGRAM = <<~RUBY
        require "support/native_member"
        cluster = Penstock::Native::MockCluster.new
        cluster.group_initial_rebalance_delay = 50
        cluster.create_topic("orders", 3)
        member = Penstock::TestSupport::NativeMember.new(cluster, "orders", "client.id": "shop")
        member.await_assignment(3)
        # tgkill(2): a signal for one thread.
        signal = lambda do |name, thread|
          task = Dir["/proc/self/task/*"].find { |path| File.read(File.join(path, "comm")).chomp == thread }
          syscall((RUBY_PLATFORM.include?("aarch64") ? 131 : 234), $$, Integer(File.basename(task)), Signal.list.fetch(name))
        end
        forever = -> { IO.pipe.first.read }
      RUBY

      def crash(code, **env)
        TestSupport::RubyProgram.run("#{PROGRAM}\n#{code}", timeout: 30, env: env.transform_keys(&:to_s))
      end

      test "a fault in a thread of librdkafka leaves a line with the thread, the versions and the last events" do
        skip "AddressSanitizer reports faults itself" if ENV["LD_PRELOAD"].to_s.include?("asan")

        output, result = crash(%(signal.call("SEGV", "rdk:main"); forever.call))
        line = output.lines.grep(/ends by SIGSEGV/).first.to_s

        assert_equal Signal.list["SEGV"], result.status.termsig, output
        assert_match(/\Apenstock #{VERSION}, ruby #{RUBY_VERSION}/, line)
        assert_match(/, librdkafka #{LIBRDKAFKA_VERSION}: process \d+ ends by SIGSEGV/, line)
        assert_includes line, "in the thread rdk:main. "
        assert_match(/Last events: \d+ ms ago .*shop#consumer-\d+: rebalance, _ASSIGN_PARTITIONS 3 partitions/, line)
        assert_match(/penstock_kafka\.so.*\[0x\h+\]/, output)
      end

      test "an abort, as of a failed assertion, leaves the line" do
        output, result = crash("Process.kill(:ABRT, $$); forever.call")

        assert_equal Signal.list["ABRT"], result.status.termsig, output
        assert_match(/ends by SIGABRT in the thread .*Last events: .*shop#consumer/, output)
      end

      test "a fault in Ruby's own thread is reported by Ruby alone" do
        output, = crash("Process.kill(:SEGV, $$); forever.call")

        assert_match(/\[BUG\] Segmentation fault/, output)
        refute_match(/ends by SIGSEGV/, output)
      end

      test "a stack overflow in Ruby is still an exception" do
        output, result = crash(<<~RUBY)
          def deeper = deeper
          begin
            deeper
          rescue SystemStackError
            puts "rescued"
          end
          member.close
          cluster.close
        RUBY

        assert_predicate result, :success?, output
        assert_equal "rescued", output.lines.last.chomp
      end

      test "PENSTOCK_NO_CRASH_LINE disables the line" do
        output, result = crash("Process.kill(:ABRT, $$); forever.call", PENSTOCK_NO_CRASH_LINE: "1")

        assert_equal Signal.list["ABRT"], result.status.termsig
        refute_match(/ends by/, output)
      end
    end
  end
end
