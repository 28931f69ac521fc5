# frozen_string_literal: true

require "test_helper"
require "socket"
require "timeout"
require "penstock/native/admin"
require "penstock/native/mock_cluster"

module Penstock
  module Native
    class AdminTest < TestCase
      # Accepts connections and never answers: every request waits.
      def silent_broker
        server = TCPServer.new("127.0.0.1", 0)
        yield "127.0.0.1:#{server.addr[1]}"
      ensure
        server&.close
      end

      def on_mock(topics: {})
        cluster = MockCluster.new
        topics.each { |name, partitions| cluster.create_topic(name, partitions) }
        admin = Admin.new("bootstrap.servers" => cluster.bootstrap_servers)
        yield admin, cluster
      ensure
        admin&.close
        cluster&.close
      end

      test "metadata of one topic, of all topics, and of a missing one" do
        on_mock(topics: {"orders" => 2}) do |admin|
          all = admin.metadata(nil, 5_000)

          assert_equal({leader: 1, replicas: [1], isrs: [1], error: 0}, all[:topics]["orders"][:partitions][1])
          assert_equal [1], all[:brokers].map(&:first)
          assert_match(/\AmockCluster/, all[:cluster_id])
          assert_equal ["orders"], admin.metadata("orders", 5_000)[:topics].keys
          assert_equal({error: 3, partitions: {}}, admin.metadata("missing", 5_000)[:topics]["missing"])
        end
      end

      test "invalid rows are refused before anything is sent" do
        on_mock do |admin|
          assert_raises(TypeError) { admin.list_offsets(["orders"], 100) }
          assert_raises(TypeError) { admin.list_offsets([[nil, 0, -1]], 100) }
          assert_raises(TypeError) { admin.create_topics([["orders", "3", 1, nil]], 100) }
          assert_raises(ArgumentError) { admin.create_topics([["a\0b", 1, 1, nil]], 100) }
          assert_raises(ArgumentError) { admin.create_partitions([["orders", 0]], 100) }
          assert_raises(ArgumentError) { admin.metadata("orders", -1) }
          assert_equal [], admin.list_offsets([], 100)
          assert_equal [], admin.committed_offsets("group", [], 100)
        end
      end

      test "committed offsets survive a coordinator that has moved" do
        on_mock(topics: {"orders" => 1}) do |admin, cluster|
          cluster.push_request_errors(:offset_fetch, [:not_coordinator])

          error = assert_raises(RetriableError) { admin.committed_offsets("group", [["orders", 0]], 5_000) }
          assert_equal :not_coordinator, error.code
          assert_equal [["orders", 0, -1001]], admin.committed_offsets("group", [["orders", 0]], 5_000).map { |row| row.first(3) }
        end
      end

      test "[Admin offline] an unreachable broker is reported as such, not as a timeout" do
        port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
        admin = Admin.new("bootstrap.servers" => "127.0.0.1:#{port}")

        [-> { admin.metadata(nil, 300) }, -> { admin.delete_topics(["orders"], 300) }, -> {
          admin.list_groups(300)
        }].each do |call|
          error = assert_raises(KafkaError, &call)
          assert_equal :transport, error.code
          assert_match(/Connection refused/, error.message)
        end
      ensure
        admin&.close
      end

      test "a wait ends at its time limit" do
        silent_broker do |servers|
          admin = Admin.new("bootstrap.servers" => servers)

          assert_within(0.3..3) { assert_raises(KafkaError) { admin.metadata(nil, 300) } }
          assert_within(0.3..3) { assert_raises(KafkaError) { admin.delete_topics(["orders"], 300) } }
        ensure
          admin&.close
        end
      end

      {
        "metadata" => ->(admin) { admin.metadata(nil, 60_000) },
        "a request" => ->(admin) { admin.delete_topics(["orders"], 60_000) },
        "committed offsets" => ->(admin) { admin.committed_offsets("group", nil, 60_000) }
      }.each do |what, call|
        test "#{what} that waits is ended by Thread#kill, Timeout, raise and close, at once" do
          silent_broker do |servers|
            assert_within(0..1) { waiting(servers, call) { |thread, _admin| thread.kill } }
            assert_within(0..1) { waiting(servers, call) { |thread, _admin| thread.raise(Timeout::Error) } }
            error = nil
            assert_within(0..1) { error = waiting(servers, call) { |_thread, admin| admin.close } }
            assert_instance_of HandleClosedError, error
          end
        end
      end

      test "[GVL suite] a ticker never stalls while calls wait, fail, open and close handles" do
        silent_broker do |servers|
          gaps = ticking do
            5.times { waiting(servers, ->(admin) { admin.metadata(nil, 60_000) }) { |thread, _admin| thread.kill } }
            admin = Admin.new("bootstrap.servers" => servers)
            assert_raises(KafkaError) { admin.delete_topics(["orders"], (300 * TestSupport::Wait::TIME_FACTOR).ceil) }
            admin.close
            MockCluster.new.close
          end

          assert_operator gaps.size, :>, 50
          # A call that kept the lock would show as 0.3 or more, times the same factor.
          assert_operator gaps.max, :<, 0.25 * TestSupport::Wait::TIME_FACTOR
        end
      end

      test "after close every call raises, and state is :closed" do
        on_mock do |admin|
          assert_equal [:open, false, Process.pid], [admin.state, admin.closed?, admin.pid]
          2.times { admin.close }

          assert_equal [:closed, true], [admin.state, admin.closed?]
          assert_raises(HandleClosedError) { admin.metadata(nil, 100) }
          assert_raises(HandleClosedError) { admin.list_groups(100) }
          assert_raises(HandleClosedError) { admin.committed_offsets("group", nil, 100) }
        end
      end

      test "a token set on the handle reaches the handle that reads a group's offsets" do
        silent_broker do |servers|
          admin = Admin.new("bootstrap.servers" => servers, "security.protocol" => "sasl_plaintext",
            "sasl.mechanisms" => "OAUTHBEARER")
          token = {token: "secret", principal_name: "me", extensions: {"cluster" => "a"}}
          assert_raises(KafkaError) { admin.oauthbearer_set_token(**token, lifetime_ms: 1) }
          admin.oauthbearer_set_token(**token, lifetime_ms: (Time.now.to_f * 1_000).to_i + 100)
          observe_for(0.2) # now it has expired, and a handle that gets it refuses it
          error = assert_raises(KafkaError) { admin.committed_offsets("group", nil, 30_000) }

          assert_match(/unexpired token/, error.message)
        ensure
          admin&.close
        end
      end

      test "a refused property raises an error that names it" do
        error = assert_raises(KafkaError) { Admin.new("bootstrap.server" => "localhost:1") }

        assert_match(/bootstrap\.server"/, error.message)
      end

      test "a child can't use its parent's handle, may garbage-collect it, and the parent's handle keeps working" do
        on_mock(topics: {"orders" => 1}) do |admin|
          child = fork do
            raised = begin
              admin.metadata(nil, 100)
            rescue ForkedHandleError
              true
            end
            admin.close
            GC.start
            exit!((raised == true && admin.state == :discarded) ? 0 : 1)
          end

          assert_predicate Process.wait2(child).last, :success?
          assert_equal ["orders"], admin.metadata(nil, 5_000)[:topics].keys
        end
      end

      test "a hundred handles opened and closed leak no thread and no descriptor" do
        on_mock(topics: {"orders" => 1}) do |idle, cluster|
          idle.close
          round = lambda do
            admin = Admin.new("bootstrap.servers" => cluster.bootstrap_servers)
            admin.metadata("orders", 5_000)
            admin.close
          end
          fds = -> { Dir.children("/proc/self/fd").size }
          10.times { round.call } # librdkafka counts a thread, also the mock's, when it begins to run
          threads = Native.thread_count
          before = fds.call
          100.times { round.call }

          # The mock closes its sides of the connections with a delay on a busy machine, and not one by one.
          left = -> { "#{fds.call} descriptors, #{before} before, #{Native.thread_count} threads, #{threads} before" }
          wait_until(20, "no more threads and descriptors than before", state: left) do
            Native.thread_count <= threads && fds.call <= before
          end
          assert_operator fds.call, :<=, before
        end
      end

      private

      # With a memory checker everything takes longer.
      def assert_within(seconds)
        allowed = seconds.begin..(seconds.end * TestSupport::Wait::TIME_FACTOR)
        started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        yield
        assert_includes allowed, Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
      end

      # @return [Array<Float>] seconds between the ticks of a thread that ticks every ms while the block runs
      def ticking
        times = []
        running = true
        ticker = Thread.new { (times << Process.clock_gettime(Process::CLOCK_MONOTONIC)) && observe_for(0.001) while running }
        yield
        running = false
        ticker.join
        times.each_cons(2).map { |left, right| right - left }
      end

      # Runs the call on a thread; yields once it waits, and returns the exception that ended it.
      def waiting(servers, call)
        admin = Admin.new("bootstrap.servers" => servers)
        thread = Thread.new { ending_of { call.call(admin) } }
        wait_until(5, "the call") { thread.status == "sleep" }
        yield thread, admin
        thread.join(10)&.value
      ensure
        admin.close
      end

      def ending_of
        yield
        :answered
      rescue => error
        error
      end
    end
  end
end
