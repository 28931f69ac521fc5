# frozen_string_literal: true

require "test_helper"
require "penstock/native/admin"
require "support/native_member"
require "support/ruby_program"

module Penstock
  module Native
    # Requests to a group's coordinator when its broker dies.
    class CoordinatorTest < TestCase
      leaks_checked_per_class "the cluster's sockets come and go with their clients"

      # A request times out while its coordinator is down, and would be sent when the coordinator comes back.
      TIMED_OUT_REQUESTS = <<~RUBY
        require "penstock/native/admin"
        require "penstock/native/mock_cluster"
        cluster = Penstock::Native::MockCluster.new(brokers: 2)
        cluster.coordinator("group", "orders", 2)
        admin = Penstock::Native::Admin.new("bootstrap.servers" => cluster.bootstrap_servers.split(",").first)
        admin.metadata(nil, 10_000)
        ask = ->(timeout_ms) { admin.describe_groups(["orders"], timeout_ms) rescue $!.code }
        cluster.broker_down(2)
        3.times { ask.call(700) }
        cluster.broker_up(2)
        # The cluster knows no such request: that answer comes from the coordinator.
        row = ask.call(5_000) until row.is_a?(Array)
        5.times { ask.call(1_000) }
        puts "alive"
      RUBY

      def with_brokers(count)
        cluster = MockCluster.new(brokers: count)
        cluster.group_initial_rebalance_delay = 50
        @members = []
        yield cluster
      ensure
        @members.each { |member| member.close(500) }
        cluster&.close
      end

      def member(cluster, topic)
        TestSupport::NativeMember.new(cluster, topic).tap { |member| @members << member }
      end

      def elapsed
        started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        yield
        Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
      end

      def answer(member, token)
        member.turn_until(10, "answer #{token}") { member.events.find { |event| event.first(2) == [:committed, token] } }
      end

      test "requests that timed out while their coordinator was down don't end the process when it comes back" do
        output, result = TestSupport::RubyProgram.run(TIMED_OUT_REQUESTS, timeout: 60)

        assert_equal "alive", output.lines.last&.chomp, output
        assert_predicate result, :success?
      end

      test "committed offsets are requested from the new coordinator when the former one has died" do
        with_brokers(2) do |cluster|
          cluster.create_topic("orders", 1, 2)
          cluster.partition_leader("orders", 0, 1)
          cluster.coordinator("group", "group", 2)
          one = member(cluster, "orders")
          one.await_assignment(1)
          one.consumer.commit(1, [["orders", 0, 7, "text"]])
          assert_equal 0, one.await_event(:commit)[2]
          cluster.broker_down(2)
          one.consumer.fetch_committed(2, [["orders", 0]], timeout_ms: 20_000)
          cluster.coordinator("group", "group", 1)

          assert_equal ["orders", 0, 7, "text"], answer(one, 2).last.first.first(4)
        end
      end

      test "-1 as the partition requests the offsets of all partitions of its topic" do
        with_brokers(1) do |cluster|
          cluster.create_topic("orders", 3)
          one = member(cluster, "orders")
          one.await_assignment(3)
          one.consumer.commit(1, [["orders", 2, 5]])
          one.await_event(:commit)
          one.consumer.fetch_committed(2, [["orders", Consumer::ALL_PARTITIONS]], timeout_ms: 10_000)

          assert_equal [["orders", 0, -1001], ["orders", 1, -1001], ["orders", 2, 5]],
            answer(one, 2).last.map { |row| row.first(3) }.sort
        end
      end

      test "a request without a coordinator is answered with an error when its time is up" do
        with_brokers(1) do |cluster|
          cluster.create_topic("orders", 1)
          one = member(cluster, "orders")
          one.await_assignment(1)
          cluster.broker_down(1)
          one.consumer.fetch_committed(2, [["orders", 0]], timeout_ms: 300)

          assert_equal [Native.error_number(:timed_out), []], answer(one, 2).values_at(2, 4)
        end
      end

      test "a consumer that is closed doesn't wait for the answer of a request" do
        with_brokers(1) do |cluster|
          cluster.create_topic("orders", 1)
          one = member(cluster, "orders")
          one.await_assignment(1)
          cluster.broker_down(1)
          3.times { |token| one.consumer.fetch_committed(token, [["orders", 0]], timeout_ms: 60_000) }

          assert_operator elapsed { one.close(1_000) }, :<, 5 * TestSupport::Wait::TIME_FACTOR
        end
      end
    end
  end
end
