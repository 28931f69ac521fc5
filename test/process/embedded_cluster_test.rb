# frozen_string_literal: true

require "test_helper"
require "rbconfig"
require "socket"
require "penstock"
require "penstock/native/admin"
require "penstock/testing/cluster"
require "support/free_port"

module Penstock
  module Testing
    class ClusterTest < TestCase
      test "[Mock cluster] it is up when start returns, with the topics asked for, and gone after stop" do
        cluster = Cluster.start(topics: {"orders" => 6, "events" => 1})
        pid = cluster.pid

        assert_equal({"orders" => 6, "events" => 1}, cluster.topics)
        assert_predicate cluster, :running?
        2.times { cluster.stop }
        refute_predicate cluster, :running?
        assert_raises(Errno::ESRCH) { ::Process.kill(0, pid) }
      end

      test "a block gets the cluster and its value is returned; it is stopped even when the block raises" do
        pid = nil

        assert_equal 1, Cluster.start { |cluster| cluster.topics.size + 1 }
        assert_raises(ArgumentError) do
          Cluster.start do |cluster|
            pid = cluster.pid
            raise ArgumentError
          end
        end
        assert_raises(Errno::ESRCH) { ::Process.kill(0, pid) }
      end

      test "the cluster ends with the process that started it, also when that is killed" do
        reader, writer = IO.pipe
        kept, held = IO.pipe # a program whose test has ended ends
        program = 'require "penstock/testing/cluster"; c = Penstock::Testing::Cluster.start; puts c.pid; $stdout.flush; gets'
        child = spawn(RbConfig.ruby, *$LOAD_PATH.map { |folder| "-I#{folder}" }, "-e", program, in: kept, out: writer)
        [writer, kept].each(&:close)
        broker = Integer(reader.gets)
        ::Process.kill(:KILL, child)
        ::Process.wait(child)

        assert wait_until(5, "the broker's end") { gone?(broker) }
      ensure
        [reader, held].each(&:close)
      end

      test "partitions: counts for topics named without a number; a topic created by its first use has four" do
        Cluster.start(topics: %w[orders clicks], partitions: 3) do |cluster|
          cluster.create_topic("events")
          cluster.create_topic("log", partitions: 1)
          producer = Penstock::Producer.new { |config| config.kafka = cluster.kafka }
          producer.produce_sync(topic: "unplanned", payload: "x")
          producer.close

          assert_equal({"orders" => 3, "clicks" => 3, "events" => 3, "log" => 1, "unplanned" => 4}, cluster.topics)
        end
      end

      test "topics are created, described and deleted; errors are Kafka's" do
        Cluster.start do |cluster|
          cluster.create_topic("orders", partitions: 2)

          assert_equal({0 => {"leader" => 1, "low" => 0, "high" => 0}, 1 => {"leader" => 1, "low" => 0, "high" => 0}},
            cluster.describe_topic("orders"))
          assert_equal :topic_already_exists, assert_raises(KafkaError) { cluster.create_topic("orders") }.code
          cluster.delete_topic("orders")
          assert_equal :unknown_topic_or_part, assert_raises(KafkaError) { cluster.delete_topic("orders") }.code
          assert_equal :unknown_topic_or_part, assert_raises(KafkaError) { cluster.describe_topic("orders") }.code
        end
      end

      test "errors, round trips and outages can be set and reset" do
        Cluster.start(brokers: 2) do |cluster|
          cluster.inject_errors(:produce, [:not_leader_for_partition, 0, 7])
          cluster.inject_errors(:fetch, [:request_timed_out], broker: 2, rtt_ms: 5)
          cluster.clear_errors(:produce)
          cluster.set_rtt(2)
          cluster.set_rtt(0, broker: 1)
          cluster.topic_error("orders", :topic_authorization_failed)
          cluster.topic_error("orders", nil)
          cluster.broker_down(2)
          cluster.broker_up

          assert_equal :invalid_arg, assert_raises(KafkaError) { cluster.inject_errors(:nonsense, [7]) }.code
          assert_equal :invalid_arg, assert_raises(KafkaError) { cluster.request(:nonsense) }.code
        end
      end

      test "a broker listens on a port of the user's choice" do
        port = TestSupport::FreePort.take.first
        Cluster.start(topics: {"orders" => 3}, port: port) do |cluster|
          admin = Native::Admin.new("bootstrap.servers" => "127.0.0.1:#{port}")

          assert_equal "127.0.0.1:#{port}", cluster.bootstrap_servers
          assert_equal ["orders"], admin.metadata(nil, 5_000)[:topics].keys
        ensure
          admin&.close
        end
      end

      test "a port in use is reported, with what to do" do
        server = TCPServer.new("127.0.0.1", 0)
        error = assert_raises(WaitTimeoutError) { Cluster.start(port: server.addr[1]) }

        assert_match(/port #{server.addr[1]} can't be used.*--port/m, error.message)
      ensure
        server&.close
      end

      test "a client that reaches the broker finds its control socket" do
        Cluster.start do |cluster|
          admin = Native::Admin.new("bootstrap.servers" => cluster.bootstrap_servers)
          Native::EmbeddedControlClient.of(admin, 5_000).request(:create, topic: "found", partitions: 2)

          assert_equal({"found" => 2}, cluster.topics)
        ensure
          admin&.close
        end
      end

      test "rubbish on the control socket is answered or dropped, and the broker continues" do
        Cluster.start do |cluster|
          port = cluster.instance_variable_get(:@control).instance_variable_get(:@port)
          answers = ["{\n", "[]\n", "\xff\xfe\n", %({"command":"create"}\n), "\n"].map { |line| ask(port, line) }

          assert(answers.all? { |line| line.include?("error") }, answers.inspect)
          TCPSocket.open("127.0.0.1", port) { |socket| socket.write("half a requ") }
          assert_equal({}, cluster.topics)
        end
      end

      test "wrong types, a client that doesn't read, silence, a thousand connections neither end the broker nor delay a command" do
        Cluster.start(topics: {"t" => 1}) do |cluster|
          port = cluster.instance_variable_get(:@control).instance_variable_get(:@port)
          ['{"command":"errors","api":"produce","errors":5}', '{"command":"errors","api":[],"errors":[]}', '{"command":7}',
            '{"command":"create","topic":{}}', '{"command":"rtt","rtt_ms":"x"}', '{"command":"delete_records"}',
            '{"command":"track","on":"\xFF\e"}', '{"command":"group_times","session_timeout_ms":[],"heartbeat_interval_ms":{}}',
            "[" * 10_000, "a" * 1_100_000].each do |line|
            assert_match(/"error"|"result"/, ask(port, "#{line}\n"), line[0, 60])
          end
          silent = Array.new(1_000) { TCPSocket.new("127.0.0.1", port) }
          cluster.request(:track, on: true)
          deaf = Array.new(20) { TCPSocket.new("127.0.0.1", port).tap { |socket| socket.write(%({"command":"requests"}\n)) } }

          assert_equal({"t" => 1}, cluster.topics)
        ensure
          [*silent, *deaf].each(&:close)
        end
      end

      test "many clients may use the control socket at once" do
        Cluster.start do |cluster|
          threads = Array.new(8) { |number| Thread.new { cluster.create_topic("t#{number}", partitions: 1) } }
          threads.each(&:join)

          assert_equal 8, cluster.topics.size
        end
      end

      test "the cluster provides the settings that clients need" do
        Cluster.start do |cluster|
          classic, modern = %i[classic consumer].map { |protocol| cluster.kafka(group_protocol: protocol) }

          assert_equal [cluster.bootstrap_servers, 10, 2_000],
            classic.values_at(*%i[bootstrap.servers fetch.wait.max.ms session.timeout.ms])
          assert_nil modern[:"session.timeout.ms"]
          assert_equal "consumer", modern[:"group.protocol"]
        end
      end

      test "a forked child neither stops the cluster nor owns it" do
        Cluster.start do |cluster|
          child = fork do
            cluster.stop
            exit!(cluster.topics.empty? ? 0 : 1)
          end

          assert_predicate ::Process.wait2(child).last, :success?
          assert_equal({}, cluster.topics)
        end
      end

      private

      def gone?(pid)
        ::Process.kill(0, pid)
        false
      rescue Errno::ESRCH
        true
      end

      def ask(port, line)
        TCPSocket.open("127.0.0.1", port) do |socket|
          socket.write(line)
          socket.gets.to_s
        rescue Errno::EPIPE, Errno::ECONNRESET # the client has read enough
          socket.gets.to_s
        end
      end
    end
  end
end
