# frozen_string_literal: true

require "test_helper"
require "penstock/clock"
require "support/native_member"

module Penstock
  module Native
    # A consumer that has not subscribed and is assigned partitions directly: it joins no group, but commits offsets to one.
    class DirectAssignmentTest < TestCase
      include TestSupport::NativeCluster

      def assign(one, keys)
        keys.each { |key| one.lanes[key] = one.consumer.lane(*key) }
        assert_nil one.consumer.assign(keys)
      end

      test "assigned partitions are consumed, without rebalance events" do
        name = topic(2)
        produce(name, %w[a b])
        one = member
        assign(one, [[name, 0], [name, 1]])
        one.await_records([name, 0], 2)

        assert_empty(one.events.select { |event| %i[assign revoke error].include?(event.first) })
        assert_equal [[name, 0], [name, 1]], one.consumer.assignment.sort
        assert_equal "NONE", one.consumer.rebalance_protocol
      end

      test "partitions added later don't disturb existing ones" do
        name = topic(2)
        produce(name, %w[a b])
        one = member
        assign(one, [[name, 0]])
        one.await_records([name, 0], 2)
        produce(name, %w[c], partition: 1)
        assign(one, [[name, 1]])
        one.await_records([name, 1], 1)
        produce(name, %w[d])
        one.await_records([name, 0], 3)

        assert_equal [0, 1, 2], one.offsets[[name, 0]]
      end

      test "offsets are committed to the group and read by its next consumer" do
        name = topic(1)
        produce(name, %w[a b c])
        one = member
        assign(one, [[name, 0]])
        one.await_records([name, 0], 3)
        one.consumer.commit(7, [[name, 0, 2]])
        event = one.await_event(:commit)

        assert_equal [7, 0], event[1, 2]
        one.close
        other = member
        assign(other, [[name, 0]])
        other.await_records([name, 0], 1)
        assert_equal [2], other.offsets[[name, 0]]
      end

      test "an unassigned partition is fetched no longer, the others are, and it can be assigned again from any offset" do
        name = topic(2)
        produce(name, %w[a b c])
        one = member
        assign(one, [[name, 0], [name, 1]])
        one.await_records([name, 0], 3)
        assert_nil one.consumer.unassign([[name, 0]])
        one.lanes.delete([name, 0]).close
        produce(name, %w[d])
        produce(name, %w[e], partition: 1)
        one.await_records([name, 1], 1)

        assert_equal [[name, 1]], one.consumer.assignment
        assert_equal [0, 1, 2], one.offsets[[name, 0]]
        one.lanes[[name, 0]] = one.consumer.lane(name, 0)
        assert_nil one.consumer.assign([[name, 0, 1]])
        one.await_records([name, 0], 6)
        assert_equal [0, 1, 2, 1, 2, 3], one.offsets[[name, 0]]
      end

      test "unassigning a partition that isn't assigned is refused, and changes nothing" do
        name = topic(2)
        one = member
        assign(one, [[name, 0]])

        assert_kind_of String, one.consumer.unassign([[name, 0], [name, 1]])[1]
        assert_equal [[name, 0]], one.consumer.assignment
      end

      test "a close returns at once" do
        name = topic(1)
        one = member
        assign(one, [[name, 0]])
        one.turn
        started = Clock::SYSTEM.monotonic_ms
        one.close

        assert_operator Clock::SYSTEM.monotonic_ms - started, :<, 2_000 * TestSupport::Wait::TIME_FACTOR
      end
    end
  end
end
