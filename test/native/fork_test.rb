# frozen_string_literal: true

require "test_helper"
require "support/native_member"

module Penstock
  module Native
    # A child inherits a handle's memory, but not its threads: it may only drop it.
    class ForkTest < TestCase
      include TestSupport::NativeCluster

      # Runs the block in a child and returns its value, or its error.
      def in_child
        reader, writer = IO.pipe
        pid = fork do
          reader.close
          writer.write(Marshal.dump(answer_of { yield }))
          writer.close
          exit!(0)
        end
        writer.close
        Marshal.load(reader.read).tap { assert_predicate Process.wait2(pid).last, :success? }
      ensure
        reader.close
      end

      def answer_of
        Timeout.timeout(5) { yield }
      rescue => error
        "#{error.class}: #{error.message}"
      end

      def sanitized?
        ENV["LD_PRELOAD"].to_s.include?("asan")
      end

      # The parent's consumer is still usable after the child.
      def assert_goes_on(one, name, count)
        produce(name, Array.new(count, "x"))
        one.await_records([name, 0], one.offsets[[name, 0]].size + count)
        assert_equal :open, one.consumer.state
      end

      def consuming
        name = topic
        one = member(name)
        one.await_assignment(1)
        [name, one, one.lanes[[name, 0]]]
      end

      test "use in a child raises an error that names the process that opened it" do
        name, one, lane = consuming
        calls = [
          -> { one.consumer.wait(0) }, -> { one.consumer.wait(1_000) }, -> { one.consumer.poll_event },
          -> { one.consumer.take([lane, 1, 1]) }, -> { one.consumer.touch([lane]) }, -> { one.consumer.answer },
          -> { one.consumer.subscribe([name]) }, -> { one.consumer.commit(1, [[name, 0, 1]]) },
          -> { one.consumer.metadata(nil, 100) }, -> { one.consumer.member_id }, -> { one.consumer.seek(lane, 1) },
          -> { one.consumer.lane(name, 0) }, -> { one.consumer.ready_lanes }, -> { one.consumer.assignment_lost? }
        ]
        answers = in_child { calls.map { |call| answer_of(&call) } }

        answers.each { |answer| assert_match(/ForkedHandleError: .*process #{Process.pid}/, answer) }
        assert_goes_on(one, name, 3)
      end

      test "a child may wake, close and discard the handle without any effect, also on the parent" do
        name, one, lane = consuming
        one.consumer.wait(0)
        answer = in_child do
          one.consumer.wakeup
          one.consumer.close(1_000)
          one.consumer.discard!
          lane.close
          [one.consumer.state, one.consumer.closed?, lane.length]
        end

        assert_equal [:discarded, true, 0], answer
        assert_goes_on(one, name, 1)
      end

      test "the child's descriptors of the handle are closed" do
        before = wake_descriptors
        _, one, = consuming
        opened = wake_descriptors - before

        one.turn
        skip "a pipe can't be told from librdkafka's own, which it keeps open in a child" if opened.empty?

        assert_empty in_child { wake_descriptors & opened }
      end

      def wake_descriptors
        Dir.children("/proc/self/fd").filter_map do |fd|
          target = File.readlink("/proc/self/fd/#{fd}")
          [fd, target] if target.include?("eventfd")
        rescue Errno::ENOENT
          nil
        end
      end

      test "a child that runs GC, or exits, only frees memory" do
        name, one, = consuming
        collected = in_child do
          one.instance_variables.each { |variable| one.instance_variable_set(variable, nil) }
          @members = []
          5.times { GC.start }
          Native.handle_count
        end
        pid = fork { exit(0) }
        GC.start

        assert_equal 0, collected
        assert_equal 0, Timeout.timeout(5) { Process.wait2(pid).last.exitstatus }
        assert_goes_on(one, name, 1)
      end

      test "batches taken before the fork are readable in the child" do
        name, one, = consuming
        produce(name, %w[a b])
        one.await_records([name, 0], 2)
        batches = one.batches[[name, 0]].select { |batch| batch.size.positive? }

        assert_equal(%w[a b], in_child { batches.flat_map { |batch| batch.raw_payloads(0, batch.size) } })
      end

      test "a fork while another thread waits leaves parent and child usable" do
        name, one, = consuming
        one.turn while one.consumer.wait(100)
        waiting = Thread.new { one.consumer.wait(3_000) }
        wait_until(2) { waiting.status == "sleep" }
        answer = in_child { answer_of { one.consumer.wait(0) } }
        one.consumer.wakeup

        assert_match(/ForkedHandleError/, answer)
        assert waiting.value
        assert_goes_on(one, name, 1)
      end

      test "a child can open a consumer of its own" do
        skip "AddressSanitizer takes the stacks of the parent's threads for live ones" if sanitized?
        name, one, = consuming
        produce(name, %w[a])
        servers = Struct.new(:bootstrap_servers).new(cluster.bootstrap_servers)
        offsets = in_child do
          own = TestSupport::NativeMember.new(servers, name, "group.id" => "child-#{object_id}")
          own.await_records([name, 0], 1)
          own.close
          own.offsets.values
        end

        assert_equal [[0]], offsets
        assert_goes_on(one, name, 1)
      end

      test "a grandchild and a daemon are children too" do
        _, one, = consuming
        answer = in_child { fork { exit!(answer_of { one.consumer.wait(0) }.start_with?("Penstock::Forked") ? 0 : 1) } }

        assert_kind_of Integer, answer
        one.turn
      end
    end
  end
end
