# frozen_string_literal: true

require "test_helper"
require "support/native_member"

module Penstock
  module Native
    # librdkafka's behaviour around rebalances, as far as the driver depends on it. Each test covers a trap that was once
    # measured; a new version of the library with other behaviour fails here.
    class RebalanceTest < TestCase
      include TestSupport::NativeCluster

      ILLEGAL_GENERATION = 22
      UNKNOWN_MEMBER_ID = 25
      MAX_POLL_EXCEEDED = -147
      # Under a memory checker a single call may take a second.
      POLL_INTERVAL_MS = (1_000 * TestSupport::Wait::TIME_FACTOR.clamp(1, 5)).to_i

      # Keeps producing records to each partition while the block runs.
      def feeding(name, partitions)
        producer = Producer.new({"bootstrap.servers" => cluster.bootstrap_servers, "linger.ms" => "0"})
        stop = false
        feeder = Thread.new do
          until stop
            partitions.times { |partition| producer.produce(name, "x", partition: partition, handle: false) }
            observe_for(0.01)
          end
        end
        yield
      ensure
        stop = true
        feeder.join
        producer.close(1_000)
      end

      # Polls both until the condition holds.
      def turn_together(one, other, deadline = 10, what = nil)
        one.turn_until(deadline, what) { other.turn(0) || yield }
      end

      test "partitions that stay are consumed while a revocation waits for its answer" do
        skip "needs the patched librdkafka" unless Native.patched?
        name = topic(4)
        feeding(name, 4) do
          one = member(name)
          one.await_assignment(4)
          4.times { |partition| one.await_records([name, partition], 5) }
          one.answers = false
          other = member(name)
          turn_together(one, other) { one.pending == 1 }
          going = one.events.reverse.find { |event| event.first == :revoke }[1]
          staying = one.lanes.keys - going
          one.forget_gaps
          turn_while_pending(one, other, 1.5)

          assert_equal 2, staying.size
          limit = 0.5 * TestSupport::Wait::TIME_FACTOR
          staying.each { |key| assert_operator one.gaps[key], :<, limit, "a staying lane stood still" }
          one.answers = true
          one.answer while one.pending.positive?
          turn_together(one, other) { one.lanes.size == 2 && other.lanes.size == 2 }
          assert_no_holes(one, staying)
          assert_empty(one.events.select { |event| event.first == :stray })
        end
      end

      # The coordinator refuses it as still loading; when it is sent again, the group has another generation.
      test "a commit that is sent again after a rebalance doesn't lose the partitions" do
        skip "needs the patched librdkafka" unless Native.patched?
        name = topic(2)
        one = member(name, retry_backoff_ms: 5_000, retry_backoff_max_ms: 5_000)
        other = member(name)
        turn_together(one, other) { one.lanes.size == 1 && other.lanes.size == 1 }
        own = one.lanes.keys.first
        cluster.push_request_errors(:offset_commit, [:coordinator_load_in_progress])
        one.consumer.commit(7, [[*own, 1]])
        other.close
        revoked = one.events.count { |event| event.first == :revoke }
        one.await_assignment(2)
        assert_nil commit(one, 7)
        one.turn_until(20, "first commit") { commit(one, 7) }
        one.consumer.commit(8, [[*own, 1]])
        one.turn_until(10, "second commit") { commit(one, 8) }

        assert_equal [[*own, 1, ILLEGAL_GENERATION]], commit(one, 7)[3]
        assert_equal [:commit, 8, 0, [[*own, 1, 0]]], commit(one, 8)
        assert_equal [2, revoked], [one.lanes.size, one.events.count { |event| event.first == :revoke }]
      end

      def commit(member, token) = member.events.find { |event| event.first(2) == [:commit, token] }

      def turn_while_pending(one, other, seconds)
        limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
        turn_together(one, other) { Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit }
      end

      def assert_no_holes(one, keys)
        keys.each { |key| assert_equal((0...one.offsets[key].size).to_a, one.offsets[key]) }
      end

      test "[Rebalance callbacks] a member that leaves returns its partitions, in lanes of their own" do
        name = topic(2)
        produce(name, %w[a b], partition: 0)
        one = member(name)
        one.await_assignment(2)
        before = one.lanes.values
        other = member(name)
        turn_together(one, other) { one.lanes.size == 1 && other.lanes.size == 1 }
        other.close
        one.await_assignment(2)

        assert_equal 1, before.count(&:closed?)
        assert_empty(before.select(&:closed?) & one.lanes.values)
        assert_equal 2, one.lanes.values.map(&:id).uniq.size
      end

      test "an empty assignment is an event like any other, and the lanes continue after its answer" do
        name = topic(1)
        one = member(name)
        one.await_assignment(1)
        other = member(name)
        turn_together(one, other) { other.events.any? { |event| event == [:assign, []] } }
        produce(name, %w[a])

        turn_together(one, other) { one.offsets[[name, 0]] + other.offsets[[name, 0]] == [0] }
        assert_equal 1, one.lanes.size + other.lanes.size
      end

      test "[Rebalance callbacks] under the eager protocol everything is revoked and assigned again" do
        name = topic(2)
        produce(name, %w[a b])
        one = member(name, "partition.assignment.strategy" => "range")
        one.await_assignment(2)
        other = member(name, "partition.assignment.strategy" => "range")
        turn_together(one, other) { one.lanes.size == 1 && other.lanes.size == 1 }

        assert_equal "EAGER", one.consumer.rebalance_protocol
        assert_equal 2, one.events.find { |event| event.first == :revoke }[1].size
      end

      test "[KIP-848] partitions move by increments" do
        name = topic(2)
        cluster.consumer_group_times(session_timeout_ms: 2_000, heartbeat_interval_ms: 100)
        one, other = Array.new(2) { member(**kip848) }
        one.consumer.subscribe([name])
        one.await_assignment(2)
        other.consumer.subscribe([name])
        turn_together(one, other) { one.lanes.size == 1 && other.lanes.size == 1 }

        assert_equal "COOPERATIVE", one.consumer.rebalance_protocol
      end

      # The new protocol refuses the classic properties.
      def kip848
        classic = %w[session.timeout.ms heartbeat.interval.ms partition.assignment.strategy]
        {"group.protocol" => "consumer", :without => classic}
      end

      test "polling the consumer and taking from a lane count as polls, waiting alone doesn't" do
        name = topic(3)
        times = {"max.poll.interval.ms" => POLL_INTERVAL_MS.to_s, "session.timeout.ms" => POLL_INTERVAL_MS.to_s}
        polling, taking, waiting = Array.new(3) { |i| Thread.new { outlive(name, i, times) } }.map(&:value)

        refute_includes polling, MAX_POLL_EXCEEDED
        refute_includes taking, MAX_POLL_EXCEEDED
        assert_includes waiting, MAX_POLL_EXCEEDED
      end

      # Three groups of one member each: their events within three intervals of doing one thing only.
      def outlive(name, mode, times)
        one = member(name, "group.id" => "alone-#{mode}-#{object_id}", **times)
        one.await_assignment(3)
        limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + (3 * POLL_INTERVAL_MS / 1_000.0)
        do_only(one, mode) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
        one.turn
        one.events.select { |event| event.first == :error }.map { |event| event[1] }
      end

      def do_only(one, mode)
        case mode
        when 0 then one.consumer.poll_event
        when 1 then one.consumer.touch(one.lanes.values)
        end
        one.consumer.wait((mode == 2) ? 50 : 0)
        observe_for(0.02)
      end

      test "a lost revocation without an answer doesn't block close" do
        name = topic
        one = member(name, "max.poll.interval.ms" => "1000", "session.timeout.ms" => "1000")
        one.await_assignment(1)
        one.answers = false
        observe_for(2.5)
        one.turn_until(5, "a revocation") { one.pending.positive? }

        assert one.events.find { |event| event.first == :revoke }[2], "lost"
        assert_operator seconds { one.close(2_000) }, :<, 1.5
      end

      def seconds
        started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        yield
        Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
      end

      test "a member removed during its revocation isn't reported as lost: its id is empty" do
        name = topic(2)
        eager = {"partition.assignment.strategy" => "range", "session.timeout.ms" => "4000"}
        one = member(name, **eager)
        one.await_assignment(2)
        one.answers = false
        other = member(name, **eager)
        one.turn_until(10, "a revocation") { one.pending.positive? }
        cluster.push_request_errors(:heartbeat, [UNKNOWN_MEMBER_ID])
        one.turn_until(5, "an empty id") { one.consumer.member_id.to_s.empty? }

        refute_predicate one.consumer, :assignment_lost?
        other.close(200)
      ensure
        cluster.clear_request_errors(:heartbeat)
      end

      test "close answers pending events and is quick, with full lanes and unreleased batches" do
        name = topic(2)
        2.times { |partition| produce(name, Array.new(2_000, "x" * 100), partition: partition) }
        one = member(name)
        one.await_records([name, 0], 1)
        one.takes = false
        one.turn_until { one.lanes.values.sum(&:length).positive? || one.offsets.values.sum(&:size) == 4_000 }
        held = one.batches.values.flatten

        assert_operator seconds { one.close(5_000) }, :<, 1
        assert_equal "x" * 100, held.find { |batch| batch.size.positive? }.payload(0)
      end

      test "in an orderly leave the loop answers the last revocation itself" do
        name = topic(2)
        one = member(name)
        one.await_assignment(2)
        one.consumer.close_begin

        assert_equal :closing, one.consumer.state
        one.turn_until { one.consumer.closing_done? }
        assert_equal 2, one.events.find { |event| event.first == :revoke }[1].size
        assert_operator seconds { one.close(5_000) }, :<, 1
        assert_equal :closed, one.consumer.state
      end

      test "closing during a pending revocation answers both" do
        name = topic(4)
        one = member(name)
        one.await_assignment(4)
        one.answers = false
        other = member(name)
        turn_together(one, other) { one.pending == 1 }
        one.consumer.close_begin

        assert_operator seconds { one.close(5_000) }, :<, 2
      end

      test "answering without a pending event does nothing" do
        one = member(topic)

        assert_nil one.consumer.answer
        assert_equal 0, one.consumer.pending_rebalances
      end

      test "a member without partitions also leaves its group explicitly" do
        skip "needs the patched librdkafka" unless Native.patched?
        name = topic(1)
        one = member(name)
        one.await_assignment(1)
        idle = member(name)
        turn_together(one, idle) { idle.events.any? { |event| event.first == :assign } }
        assert_empty idle.lanes
        cluster.track_requests
        closing = Thread.new { idle.close(5_000) }
        one.turn_until(10, "the end of the one without partitions") { !closing.alive? }
        closing.join

        assert_equal 1, cluster.requests.count { |_broker, kind, _time| kind == :leave_group }
      ensure
        cluster.track_requests(false)
      end
    end
  end
end
