# frozen_string_literal: true

require "test_helper"
require "socket"
require "penstock/native"
require "penstock/native/mock_cluster"

module Penstock
  module Native
    class MockClusterTest < TestCase
      test "[Mock cluster] it listens on 127.0.0.1 until it is closed" do
        cluster = MockCluster.new(brokers: 2)
        servers = cluster.bootstrap_servers.split(",")
        host, port = servers.first.split(":")

        assert_equal 2, servers.size
        assert_equal "127.0.0.1", host
        TCPSocket.new(host, port).close
        cluster.close
        assert_raises(Errno::ECONNREFUSED) { TCPSocket.new(host, port) }
      end

      test "closing again does nothing, and calls of a closed cluster raise" do
        cluster = MockCluster.new
        2.times { cluster.close }

        assert_predicate cluster, :closed?
        assert_equal :closed, cluster.state
        assert_raises(HandleClosedError) { cluster.bootstrap_servers }
        assert_raises(HandleClosedError) { cluster.create_topic("a", 1) }
      end

      test "a cluster can have 1 to 64 brokers" do
        assert_raises(ArgumentError) { MockCluster.new(brokers: 0) }
        assert_raises(ArgumentError) { MockCluster.new(brokers: 65) }
      end

      test "a topic is created once, deleted once, and must have a partition" do
        with_cluster do |cluster|
          cluster.create_topic("orders", 3)

          assert_equal :topic_already_exists, assert_raises(KafkaError) { cluster.create_topic("orders", 3) }.code
          cluster.delete_topic("orders")
          assert_equal :unknown_topic_or_part, assert_raises(KafkaError) { cluster.delete_topic("orders") }.code
          assert_raises(ArgumentError) { cluster.create_topic("orders", 0) }
          assert_raises(ArgumentError) { cluster.create_topic("o" * 256, 1) }
        end
      end

      test "errors are injected by name or number, unknown names are refused" do
        with_cluster do |cluster|
          cluster.push_request_errors(:produce, [:not_leader_for_partition, 0, 7])
          cluster.push_broker_request_errors(1, :fetch, [[:request_timed_out, 20], [0, 10]])
          cluster.clear_request_errors(:produce)
          cluster.set_topic_error("orders", :topic_authorization_failed)
          cluster.set_topic_error("orders", nil)

          assert_raises(ArgumentError) { cluster.push_request_errors(:nonsense, [7]) }
          assert_raises(ArgumentError) { cluster.push_request_errors(:produce, [:nonsense]) }
        end
      end

      test "a missing broker is an error, not a crash" do
        with_cluster do |cluster|
          assert_raises(KafkaError) { cluster.set_rtt(9, 10) }
          assert_raises(KafkaError) { cluster.broker_down(9) }
          assert_raises(KafkaError) { cluster.push_broker_request_errors(9, :fetch, [[7, 0]]) }
        end
      end

      test "brokers go down and come up" do
        with_cluster do |cluster|
          port = cluster.bootstrap_servers.split(":").last
          cluster.broker_down(1)

          assert_raises(Errno::ECONNREFUSED) { TCPSocket.new("127.0.0.1", port) }
          cluster.broker_up(1)
          TCPSocket.new("127.0.0.1", port).close
        end
      end

      test "requests can be counted" do
        with_cluster do |cluster|
          cluster.track_requests

          assert_equal [], cluster.requests
        end
      end

      test "a child can't use its parent's cluster, and the parent's keeps working" do
        with_cluster do |cluster|
          reader, writer = IO.pipe
          child = fork do
            reader.close
            writer.write(in_child(cluster))
            writer.close
            exit!(0)
          end
          writer.close

          assert_equal "ForkedHandleError discarded", reader.read
          assert_predicate ::Process.wait2(child).last, :success?
          cluster.create_topic("after", 1)
        ensure
          reader.close
        end
      end

      # In a child, because the garbage collector may find what looks like a reference on the stack; so one of five may
      # survive.
      test "a cluster without a reference is shut down by the garbage collector" do
        child = fork do
          before = Native.thread_count
          Thread.new { 5.times { MockCluster.new.create_topic("a", 1) } }.join
          threads = Native.thread_count - before
          wait_until(10, "the reaper") do
            GC.start
            Native.thread_count - before <= threads / 5
          end
          exit!(0)
        end

        assert_predicate ::Process.wait2(child).last, :success?
      end

      test "calls from many threads during a close either succeed or raise" do
        cluster = MockCluster.new
        threads = Array.new(4) { |number| Thread.new { create_until_closed(cluster, number) } }
        cluster.close

        assert_empty threads.map(&:value) - [:done, HandleClosedError]
      end

      private

      def with_cluster
        cluster = MockCluster.new
        yield cluster
      ensure
        cluster&.close
      end

      def create_until_closed(cluster, number)
        (1..50).each { |index| cluster.create_topic("t#{number}-#{index}", 1) }
        :done
      rescue HandleClosedError => error
        error.class
      end

      def in_child(cluster)
        GC.start
        cluster.create_topic("child", 1)
        "nothing raised"
      rescue ForkedHandleError => error
        cluster.close
        "#{error.class.name.split("::").last} #{cluster.state}"
      end
    end
  end
end
