# frozen_string_literal: true

require "test_helper"
require "socket"
require "timeout"
require "penstock/native/admin"
require "penstock/native/mock_cluster"

module Penstock
  module Native
    class AdminTest < TestCase
      ACL = [2, "orders", 3, "User:app", "*", 3, 3].freeze
      ANY_ACL = [1, nil, 1, nil, nil, 1, 1].freeze
      private_constant :ACL, :ANY_ACL

      # Every request that waits for a broker.
      REQUESTS = {
        "metadata" => ->(admin, limit) { admin.metadata(nil, limit) },
        "new topics" => ->(admin, limit) { admin.create_topics([["orders", 1, 1, nil]], limit) },
        "new partitions" => ->(admin, limit) { admin.create_partitions([["orders", 2]], limit) },
        "deleting topics" => ->(admin, limit) { admin.delete_topics(["orders"], limit) },
        "offsets" => ->(admin, limit) { admin.list_offsets([["orders", 0, -1]], limit) },
        "a list of groups" => ->(admin, limit) { admin.list_groups(limit) },
        "describing groups" => ->(admin, limit) { admin.describe_groups(%w[one two], limit) },
        "committed offsets" => ->(admin, limit) { admin.committed_offsets("group", nil, limit) },
        "commits of many groups" => ->(admin, limit) { admin.groups_offsets((1..50).map { |index| ["g#{index}", nil] }, limit) },
        "settings" => ->(admin, limit) { admin.describe_configs([[2, "orders"]], limit) },
        "a change of settings" => ->(admin, limit) { admin.alter_configs([[2, "orders", [[0, "retention.ms", "1"]]]], limit) },
        "deleting records" => ->(admin, limit) { admin.delete_records([["orders", 0, 1]], limit) },
        "deleting groups" => ->(admin, limit) { admin.delete_groups(%w[one two], limit) },
        "writing offsets" => ->(admin, limit) { admin.alter_group_offsets("group", [["orders", 0, 1, "text", 0]], limit) },
        "deleting offsets" => ->(admin, limit) { admin.delete_group_offsets("group", [["orders", 0]], limit) },
        "describing topics" => ->(admin, limit) { admin.describe_topics(["orders"], limit, true) },
        "an election" => ->(admin, limit) { admin.elect_leaders([["orders", 0]], limit) },
        "rights" => ->(admin, limit) { admin.describe_acls(ANY_ACL, limit) },
        "new rights" => ->(admin, limit) { admin.create_acls([ACL], limit) },
        "deleting rights" => ->(admin, limit) { admin.delete_acls([ANY_ACL], limit) },
        "users" => ->(admin, limit) { admin.describe_users([], limit) },
        "a password" => ->(admin, limit) { admin.alter_users([["app", 2, 4_096, "secret", nil]], limit) }
      }.freeze
      private_constant :REQUESTS

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
          assert_raises(ArgumentError) { admin.describe_configs([[2, ""]], 100) }
          assert_raises(TypeError) { admin.describe_configs([["topic", "orders"]], 100) }
          assert_equal :invalid_arg, assert_raises(KafkaError) {
            admin.alter_configs([[2, "t", [[0, "retention.ms", nil]]]], 100)
          }.code
          assert_raises(TypeError) { admin.delete_records([["orders", 0, "all"]], 100) }
          assert_equal :invalid_arg, assert_raises(KafkaError) { admin.alter_group_offsets("g", [["orders", 0, -1]], 100) }.code
          assert_raises(TypeError) { admin.alter_group_offsets("g", [["orders", 0, 1, 5]], 100) }
          assert_raises(ArgumentError) { admin.delete_group_offsets("a\0b", [["orders", 0]], 100) }
          assert_raises(ArgumentError) { admin.create_acls([[1, *ACL.drop(1)]], 100) }
          assert_raises(ArgumentError) { admin.create_acls([[2, nil, *ACL.drop(2)]], 100) }
          assert_raises(TypeError) { admin.describe_acls(["topic", *ACL.drop(1)], 100) }
          assert_raises(TypeError) { admin.alter_users([["app", 2, 4_096, nil, nil]], 100) }
          assert_equal :invalid_arg, assert_raises(KafkaError) { admin.alter_users([["", 2, 4_096, "x", nil]], 100) }.code
          assert_equal :invalid_arg, assert_raises(KafkaError) { admin.describe_topics(%w[t t], 100) }.code
          assert_equal :invalid_arg, assert_raises(KafkaError) { admin.elect_leaders([["t", 0], ["t", 0]], 100) }.code
          empty = [admin.describe_configs([], 100), admin.alter_configs([], 100), admin.delete_records([], 100),
            admin.delete_groups([], 100), admin.alter_group_offsets("g", [], 100), admin.delete_group_offsets("g", [], 100),
            admin.create_acls([], 100), admin.delete_acls([], 100), admin.alter_users([], 100), admin.describe_topics([], 100),
            admin.elect_leaders([], 100), admin.groups_offsets([], 100)]
          assert_equal [[]], empty.uniq
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

      test "commits are written and read over one handle for many groups; one that fails has its error, the others their rows" do
        on_mock(topics: {"orders" => 2}) do |admin, cluster|
          rows = [["orders", 0, 7, "text\xFF".b, nil], ["orders", 1, 0, nil, nil]]
          assert_equal [["orders", 0, 7, 0], ["orders", 1, 0, 0]], admin.alter_group_offsets("one", rows, 5_000)
          found = admin.groups_offsets(Array.new(20) { |index|
            ["group-#{index}", [["orders", 0]]]
          } + [["one", [["orders", 0], ["orders", 1]]]], 5_000)

          assert_equal 21, found.size
          assert_equal ["one", 0, nil, [["orders", 0, 7, "text\xFF".b], ["orders", 1, 0, nil]]],
            [*found.last.first(3), found.last[3].map { |row| row.first(4) }]
          assert_equal [-1_001], found.first(20).map { |row| row[3][0][2] }.uniq
          cluster.push_request_errors(:offset_fetch, [:not_coordinator, :group_authorization_failed])
          numbers = admin.groups_offsets([["a", [["orders", 0]]], ["b", [["orders", 0]]], ["one", [["orders", 0]]]],
            5_000).map { |row|
            row[1]
          }
          assert_equal [0, 16, 30], numbers.sort
        end
      end

      # The mock cluster knows none of these requests. A handle that had sent some of them was freed too early.
      test "requests that a broker doesn't know are refused, again and again, and the handle stays usable" do
        on_mock(topics: {"orders" => 1}) do |admin|
          requests = [
            -> { admin.describe_configs([[2, "orders"]], 5_000) }, -> {
                                                                     admin.delete_group_offsets("group", [["orders", 0]], 5_000)
                                                                   },
            -> { admin.delete_groups(["group"], 5_000).each { |row| raise Native.error_for(row[1], "group", row[2]) } },
            -> { admin.describe_acls(ANY_ACL, 5_000) }, -> { admin.create_acls([ACL], 5_000) },
            -> { admin.describe_users([], 5_000) }, -> { admin.alter_users([["app", 2, 4_096, "x", nil]], 5_000) },
            -> { admin.elect_leaders(nil, 5_000) }
          ]
          20.times do
            requests.each { |request| assert_equal :unsupported_feature, assert_raises(KafkaError, &request).code }
          end

          assert_equal ["orders"], admin.metadata(nil, 5_000)[:topics].keys
        end
      end

      test "topics are described with their partitions; a missing one has its error" do
        on_mock(topics: {"orders" => 2}) do |admin|
          orders, missing = admin.describe_topics(%w[orders missing], 5_000)

          assert_equal ["orders", 0, nil, false], orders.values_at(0, 1, 2, 4)
          assert_equal [{partition: 0, leader: 1, replicas: [1], isrs: [1]}, {partition: 1, leader: 1, replicas: [1], isrs: [1]}],
            orders[5]
          assert_equal ["missing", 3, []], missing.values_at(0, 1, 5)
        end
      end

      test "[Admin offline] an unreachable broker is reported as such by every request, not as a timeout" do
        port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
        admin = Admin.new("bootstrap.servers" => "127.0.0.1:#{port}")
        failures_of_all(admin, 400).each do |what, (code, message)|
          assert_equal :transport, code, what
          assert_match(/Connection refused/, message, what)
        end
      ensure
        admin&.close
      end

      test "every request ends at its time limit where a broker doesn't answer" do
        silent_broker do |servers|
          admin = Admin.new("bootstrap.servers" => servers)
          codes = nil
          assert_within(0.4..4) { codes = failures_of_all(admin, 400).transform_values(&:first) }
          assert_equal REQUESTS.keys.to_h { |what| [what, (what == "metadata") ? :transport : :timed_out] }, codes
        ensure
          admin&.close
        end
      end

      REQUESTS.each do |what, request|
        test "#{what} that waits is ended by Thread#kill, Timeout, raise and close, at once" do
          call = ->(admin) { request.call(admin, 60_000) }
          silent_broker do |servers|
            waiting(servers, call) { |thread, _admin| thread.kill }
            waiting(servers, call) { |thread, _admin| thread.raise(Timeout::Error) }
            error = waiting(servers, call) { |_thread, admin| admin.close }
            assert_instance_of HandleClosedError, error
          end
        end
      end

      test "[GVL suite] a ticker never stalls while calls wait, fail, open and close handles" do
        # A call that kept the lock would show as 0.3 or more, times the same factor, in each round; a busy machine shows in some.
        longest = Array.new(3) do
          gaps = silent_broker { |servers| ticking { admin_calls(servers) } }
          assert_operator gaps.size, :>, 50
          gaps.max
        end

        assert_operator longest.min, :<, 0.25 * TestSupport::Wait::TIME_FACTOR
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

      # Without our patches; they can be tested with them, too.
      test "a token set on the handle reaches the handle of a group, where each has its own" do
        silent_broker do |servers|
          admin = Admin.new("bootstrap.servers" => servers, "security.protocol" => "sasl_plaintext",
            "sasl.mechanisms" => "OAUTHBEARER")
          token = {token: "secret", principal_name: "me", extensions: {"cluster" => "a"}}
          assert_raises(KafkaError) { admin.oauthbearer_set_token(**token, lifetime_ms: 1) }
          admin.oauthbearer_set_token(**token, lifetime_ms: (Time.now.to_f * 1_000).to_i + 100)
          observe_for(0.2) # now it has expired, and a handle that gets it refuses it
          error = assert_raises(KafkaError) { admin.__send__(:over_own_handle, ["group", nil], 30_000, false) }

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

      # Makes all requests at the same time.
      # @return [Hash{String => (Symbol, String)}] code and message of the error of each, or of its first row
      def failures_of_all(admin, limit)
        REQUESTS.transform_values { |request| Thread.new { failure_of { request.call(admin, limit) } } }.transform_values(&:value)
      end

      def failure_of
        _name, number, message = yield.first
        [Native.error_for(number, "row", message).code, message]
      rescue KafkaError => error
        [error.code, error.message]
      end

      # With a memory checker everything takes longer.
      def assert_within(seconds)
        allowed = seconds.begin..(seconds.end * TestSupport::Wait::TIME_FACTOR)
        started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        yield
        assert_includes allowed, Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
      end

      def admin_calls(servers)
        5.times { waiting(servers, ->(admin) { admin.metadata(nil, 60_000) }) { |thread, _admin| thread.kill } }
        admin = Admin.new("bootstrap.servers" => servers)
        assert_raises(KafkaError) { admin.delete_topics(["orders"], (300 * TestSupport::Wait::TIME_FACTOR).ceil) }
        admin.close
        MockCluster.new.close
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

      # Runs the call on a thread; yields once it waits, and returns the exception that ended it, at once. A call that doesn't
      # end at once is slow each time; a busy machine isn't.
      def waiting(servers, call, &)
        seconds = nil
        3.times do
          ended, seconds = ended_after(servers, call, &)
          return ended if seconds <= TestSupport::Wait::TIME_FACTOR
        end
        flunk "it ended after #{seconds.round(2)} s, three times"
      end

      # @return [(Exception, Float)] what ended it, and after how many seconds
      def ended_after(servers, call)
        admin = Admin.new("bootstrap.servers" => servers)
        thread = Thread.new { ending_of { call.call(admin) } }
        wait_until(5, "the call") { thread.status == "sleep" }
        started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        yield thread, admin
        ended = thread.join(10)&.value
        [ended, Process.clock_gettime(Process::CLOCK_MONOTONIC) - started]
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
