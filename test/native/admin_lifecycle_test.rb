# frozen_string_literal: true

require "test_helper"
require "penstock/native/admin"
require "penstock/native/conf"
require "penstock/native/envelope"
require "penstock/native/mock_cluster"
require "penstock/native/stats_trim"

module Penstock
  module Native
    # Opening and closing admin handles and mock clusters leaks nothing: threads, descriptors, memory.
    class AdminLifecycleTest < TestCase
      ROUNDS = Integer(ENV.fetch("PENSTOCK_LIFECYCLE_ROUNDS", "1000"))
      # valgrind keeps freed memory, and finds leaks in its own way.
      MEMORY_TOLD = !ENV["PENSTOCK_VALGRIND"]
      IDLE = {"bootstrap.servers" => "127.0.0.1:1", "log_level" => "0"}.freeze

      {
        "admin handles" => -> { Admin.new(IDLE).close },
        "admin handles with a group" => -> { Admin.new(IDLE.merge("group.id" => "g")).close },
        "mock clusters" => -> { MockCluster.new.close },
        "trials of a configuration" => -> { Conf.validate({"group.id" => "g", "linger.ms" => "x"}, :consumer) }
      }.each do |what, open_and_close|
        test "#{ROUNDS} #{what}: no more threads, descriptors or handles, and hardly more memory" do
          (ROUNDS / 5).times { open_and_close.call }
          before = [Native.thread_count, Native.handle_count]
          descriptors = Dir.children("/proc/self/fd").size
          memory = resident_kilobytes
          ROUNDS.times { open_and_close.call }

          wait_until(5, "the last threads are gone") { Native.thread_count <= before[0] }
          assert_equal before, [Native.thread_count, Native.handle_count]
          # Those of earlier rounds may have been closed meanwhile.
          assert_operator Dir.children("/proc/self/fd").size, :<=, descriptors
          assert_operator resident_kilobytes - memory, :<, 8_192 if MEMORY_TOLD
        end
      end

      # 100,000 calls, unless a tool makes each of them a hundred times slower.
      test "[Native leak suite] #{ROUNDS * 100} calls that allocate and free: constant memory" do
        calls = [
          -> { Conf.check("linger.ms", "nonsense") }, -> { Native.kafka_error(-185, "_TIMED_OUT", "late", 0) },
          -> { Envelope.decode(Envelope.encode(base: 1, topic: "t", user_metadata: "x"), base: 1, topic: "t") },
          -> { StatsTrim.keep('{"name":"x","topics":{"t":{"partitions":{"0":{"hi_offset":1}}}}}', [["t", 0]]) }
        ]
        (ROUNDS * 5).times { calls.each(&:call) }
        memory = resident_kilobytes
        (ROUNDS * 25).times { calls.each(&:call) }

        grown = resident_kilobytes - memory

        assert_operator grown, :<, MEMORY_TOLD ? 8_192 : 65_536
      end

      test "admin handles without a reference are closed by the reaper" do
        child = fork do
          threads = Native.thread_count
          Thread.new { 5.times { Admin.new(IDLE) } }.join
          wait_until(10, "the collector found them") do
            GC.start
            Native.handle_count <= 1 && Native.thread_count - threads <= 4 # one may seem referenced from the stack
          end
          exit!(0)
        end

        assert_predicate Process.wait2(child).last, :success?
      end

      private

      def resident_kilobytes
        GC.start
        File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i
      end
    end
  end
end
