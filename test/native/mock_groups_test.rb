# frozen_string_literal: true

require "test_helper"
require "penstock/cli/offset_writer"
require "support/native_member"

module Penstock
  module Native
    # Groups of the mock cluster end and rebalance as brokers' do. Sessions last five minutes here unless a test needs their
    # end: a rebalance that waits for one fails.
    class MockGroupsTest < TestCase
      include TestSupport::NativeCluster

      DEADLINE = 60
      LONG = {"session.timeout.ms" => "300000"}.freeze
      EAGER = {"partition.assignment.strategy" => "range"}.freeze
      CLASSIC = %w[session.timeout.ms heartbeat.interval.ms partition.assignment.strategy].freeze
      KIP848 = {"group.protocol" => "consumer", :without => CLASSIC}.freeze
      PROTOCOLS = {"cooperative-sticky" => LONG, "eager" => {**LONG, **EAGER}, "KIP-848" => KIP848}.freeze

      def setup
        super
        skip "needs the patched librdkafka" unless Native.patched?
        cluster.consumer_group_times(session_timeout_ms: 300_000, heartbeat_interval_ms: 100)
      end

      def together(members, what = nil)
        members.first.turn_until(DEADLINE, what) { members.drop(1).each { |member| member.turn(0) } && yield }
      end

      # Turns all until each has its number of partitions.
      def assert_lanes(members, *counts)
        shares = -> { members.map { |member| member.lanes.size } }
        together(members, "#{counts} lanes") { shares.call == counts && members.all? { |member| member.pending.zero? } }
        assert_equal counts, shares.call
      end

      # An orderly leave, while the other members continue.
      def leave(member, *others)
        closing = Thread.new { member.close }
        together(others, "the end of a leave") { !closing.alive? } unless others.empty?
        closing.join
      end

      # Commits as a client that is no member.
      def commit(name, offset)
        settings = {"bootstrap.servers" => cluster.bootstrap_servers, "log_level" => "2"}
        CLI::OffsetWriter.new(settings, DEADLINE * 1_000).call("group-#{object_id}", [[name, 0, offset, nil]])
      end

      PROTOCOLS.each do |protocol, settings|
        test "#{protocol}: a second member gets its part with the next heartbeats, and returns it when it leaves" do
          name = topic(4)
          first = member(name, **settings)
          first.await_assignment(4, DEADLINE)
          second = member(name, **settings)
          assert_lanes([first, second], 2, 2)
          leave(second, first)
          assert_lanes([first], 4)
        end

        test "#{protocol}: a group whose last member has left is empty at once: others may commit, and members join" do
          name = topic(2)
          produce(name, %w[a b c])
          first = member(name, **settings)
          first.await_assignment(2, DEADLINE)
          assert_equal :unknown_member_id, assert_raises(KafkaError) { commit(name, 1) }.code
          leave(first)
          commit(name, 2)
          second = member(name, **settings)
          second.await_records([name, 0], 1, DEADLINE)

          assert_equal [2], second.offsets[[name, 0]]
        end
      end

      test "members that join together share the partitions" do
        name = topic(4)
        all = Array.new(4) { member(name, **LONG) }
        assert_lanes(all, 1, 1, 1, 1)
      end

      test "a static member that is started again takes the place of the former" do
        name = topic(4)
        first = member(name, **LONG, "group.instance.id" => "one")
        first.await_assignment(4, DEADLINE)
        second = member(name, **LONG, "group.instance.id" => "two")
        assert_lanes([first, second], 2, 2)
        leave(second, first)
        again = member(name, **LONG, "group.instance.id" => "two")

        assert_lanes([first, again], 2, 2)
      end

      test "a member without a common protocol is refused, the group and the broker continue" do
        name = topic(2)
        first = member(name, **LONG)
        first.await_assignment(2, DEADLINE)
        other = member(name, **LONG, **EAGER)
        together([other, first], "a refusal") { other.events.any? { |event| event.first == :error && event[1] == 23 } }
        produce(name, %w[a])
        first.await_records([name, 0], 1, DEADLINE)

        assert_equal 2, first.lanes.size
      end

      test "members commit while a rebalance waits for them" do
        name = topic(2)
        first = member(name, **LONG)
        first.await_assignment(2, DEADLINE)
        first.answers = false
        second = member(name, **LONG)
        together([first, second], "a revocation") { first.pending == 1 }
        first.consumer.commit(7, [[name, 0, 5, nil], [name, 1, 5, nil]])
        together([first, second], "the answer") { first.events.any? { |event| event.first == :commit } }
        first.answers = true
        first.answer

        assert_equal [0, 0], first.events.find { |event| event.first == :commit }.last.map(&:last)
        assert_lanes([first, second], 1, 1)
      end

      test "a group changes its protocol while it is empty" do
        name = topic(2)
        produce(name, %w[a])
        first = member(name, **LONG)
        first.await_assignment(2, DEADLINE)
        leave(first)
        second = member(name, **KIP848)
        second.await_records([name, 0], 1, DEADLINE)
        second.consumer.commit(7, [[name, 0, 1, nil]])

        assert_equal [0], second.await_event(:commit, DEADLINE).last.map(&:last)
      end

      test "KIP-848: a topic of some members only has an owner for each partition" do
        busy, rare = topic(2), topic(5)
        first = member(busy, **KIP848)
        first.await_assignment(2, DEADLINE)
        others = Array.new(2) { member(rare, **KIP848) }

        shares = -> { others.map { |member| member.lanes.size }.sort }
        together([first, *others], "an owner for each") { shares.call == [2, 3] }
        assert_equal [2, 3], shares.call
      end
    end
  end
end
