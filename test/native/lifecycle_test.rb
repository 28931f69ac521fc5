# frozen_string_literal: true

require "test_helper"
require "support/native_member"
require "support/ruby_program"

module Penstock
  module Native
    # Opening and closing leaks nothing: threads, descriptors, memory.
    class LifecycleTest < TestCase
      include TestSupport::NativeCluster

      ROUNDS = Integer(ENV.fetch("PENSTOCK_LIFECYCLE_ROUNDS", "1000"))
      IDLE = TestSupport::NativeMember::PROPERTIES.merge("bootstrap.servers" => "127.0.0.1:1", "log_level" => "0").freeze

      def open_and_close(rounds)
        rounds.times { Consumer.new(IDLE).close(1_000) }
      end

      def descriptors
        Dir.children("/proc/self/fd").size
      end

      # A memory checker keeps freed memory.
      def checked?
        TestSupport::Wait::TIME_FACTOR > 1
      end

      def resident_kilobytes
        GC.start
        File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i
      end

      test "opening and closing #{ROUNDS} times adds no threads, descriptors or handles, and hardly any memory" do
        open_and_close(ROUNDS / 5)
        before = [Native.thread_count, Native.handle_count]
        open_files = descriptors
        memory = resident_kilobytes
        open_and_close(ROUNDS)

        wait_until(5, "the last threads are gone") { Native.thread_count <= before[0] }
        assert_equal before[1], Native.handle_count
        assert_operator descriptors, :<=, open_files
        assert_operator resident_kilobytes - memory, :<, 8_192 unless checked?
      end

      test "members that join, take and leave leak nothing either" do
        name = topic(2)
        produce(name, Array.new(50, "x" * 1_000))
        before = descriptors
        20.times { |round| join_take_and_leave(name, round) }

        wait_until(5, "the descriptors are closed") { descriptors <= before + 2 }
        assert_equal 0, Native.handle_count - 1 # the cluster's handle
      end

      def join_take_and_leave(name, round)
        one = member(name, "group.id" => "round-#{round}-#{object_id}")
        one.await_records([name, 0], 50)
        one.close(2_000)
      end

      test "[Native leak suite] 100,000 calls of the loop: constant memory" do
        name = topic
        produce(name, Array.new(10, "x"))
        one = member(name, takes: false)
        one.await_assignment(1)
        call_the_loop(one.consumer, one.lanes[[name, 0]], 2_000)
        memory = resident_kilobytes
        call_the_loop(one.consumer, one.lanes[[name, 0]], checked? ? 1_000 : 17_000)

        assert_operator resident_kilobytes - memory, :<, 8_192 unless checked?
        assert_equal :open, one.consumer.state
      end

      # Six calls per round.
      def call_the_loop(consumer, lane, rounds)
        rounds.times do |round|
          consumer.wait(0)
          consumer.poll_event
          consumer.ready_lanes
          consumer.take([lane, 100, 1_000])
          consumer.touch([lane])
          (round % 1_000).zero? ? consumer.seek(lane, 0) : consumer.cached_watermarks(lane.topic, lane.partition)
        end
      end

      test "a consumer without a reference is closed by the reaper" do
        threads = Native.thread_count
        Thread.new { 5.times { Consumer.new(IDLE) } }.join # on a stack that ends with it
        wait_until(10, "the collector found them") { GC.start || Native.handle_count == 1 }

        wait_until(10, "their threads are gone") { Native.thread_count <= threads }
        assert_equal 1, Native.handle_count
      end

      test "lanes, batches and their consumer can be garbage-collected in any order" do
        name = topic
        produce(name, %w[a b])
        threads = Native.thread_count
        forget_a_member(name)
        wait_until(10, "the collector found it") { GC.start || Native.handle_count == 1 }
        wait_until(10, "its threads are gone") { Native.thread_count <= threads }

        assert_equal 1, Native.handle_count
      end

      def forget_a_member(name)
        Thread.new { member(name).await_records([name, 0], 2) }.join
        @members.clear
      end

      test "a close without time leaks nothing: neither a joined member nor one that is leaving" do
        threads = Native.thread_count
        name = topic(2)
        [->(_) {}, :close_begin.to_proc].each do |before|
          one = member(name, "group.id" => "hasty-#{before.object_id}")
          one.await_assignment(2)
          before.call(one.consumer)
          one.close(0)
          wait_until(10, "the handle is gone") { one.consumer.state == :closed }
        end

        wait_until(5, "the threads are gone") { Native.thread_count <= threads }
        assert_equal 1, Native.handle_count
      end

      test "closing again, or from another thread, does nothing" do
        consumer = Consumer.new(IDLE)
        consumer.close(1_000)
        Thread.new { consumer.close(1_000) }.join

        assert_equal :closed, consumer.state
        assert_predicate consumer, :closed?
      end

      test "[Closed consumer] every call of a closed consumer raises that it is closed" do
        name = topic
        one = member(name)
        one.await_assignment(1)
        lane = one.lanes[[name, 0]]
        one.close
        calls = [
          -> { one.consumer.wait(0) }, -> { one.consumer.wait(10) }, -> { one.consumer.poll_event },
          -> { one.consumer.take([lane, 1, 1]) }, -> { one.consumer.touch([lane]) }, -> { one.consumer.answer },
          -> { one.consumer.subscribe([name]) }, -> { one.consumer.commit(1, [[name, 0, 1]]) },
          -> { one.consumer.metadata(nil, 100) }, -> { one.consumer.member_id }, -> { one.consumer.seek(lane, 1) },
          -> { one.consumer.lane(name, 0) }, -> { one.consumer.name }, -> { one.consumer.close_begin }
        ]

        calls.each { |call| assert_raises(HandleClosedError, &call) }
        assert_nil one.consumer.wakeup
        assert_nil lane.close
        assert_predicate lane, :closed?
      end

      test "a consumer that was never opened behaves like a closed one" do
        consumer = Consumer.allocate

        assert_raises(HandleClosedError) { consumer.poll_event }
        assert_nil consumer.close(10)
      end

      test "a closed lane returns nothing, and its records are dropped" do
        name = topic
        produce(name, Array.new(20, "x"))
        one = member(name, takes: false)
        one.await_assignment(1)
        lane = one.lanes[[name, 0]]
        one.turn_until { lane.length >= 20 }
        2.times { lane.close }

        assert_equal [nil], one.consumer.take([lane, 10, 1_000])
        assert_equal 0, lane.length
        assert_empty one.consumer.ready_lanes
      end
    end
  end
end
