# frozen_string_literal: true

require "test_helper"
require "stringio"
require "support/cluster_case"
require "support/kafka_command"
require "support/ruby_program"
require "penstock/admin"
require "penstock/producer"

module Penstock
  # The three brokers in which other tests cause faults.
  class KafkaClusterTest < TestCase
    include TestSupport::ClusterCase

    MEGABYTES = 1 << 20

    def topic(partitions = 3) = cluster.create_topic("cluster-#{rand(1 << 40)}", partitions: partitions)

    def producer
      made = Producer.new do |config|
        config.kafka = {"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": true}
        config.logger = Logger.new(nil)
      end
      yield made
    ensure
      made&.close
    end

    # @return [Array<(Integer, String)>] partition and payload, as Kafka's consumer reads them
    def read(name)
      path = File.join(cluster.folder, "read")
      cluster.agent.call(:read, topic: name, isolation: "read_committed", path: path)
      File.readlines(path, chomp: true).map do |line|
        partition, _offset, _time, _key, value, = line.split("\t", -1)
        [Integer(partition), value.delete_prefix("=").unpack1("m")]
      end
    end

    # By the brokers' answers to clients, instead of by the partition of the group.
    def coordinator_of(group)
      Admin.open({"bootstrap.servers": cluster.direct_servers}) { |admin| admin.group_info(group)[:coordinator] }
    end

    # As the command line does.
    def kafka(*words)
      out, $stdout = $stdout, StringIO.new
      code = TestSupport::KafkaCommand.new([*words, "--name", File.basename(cluster.folder).delete_prefix("kafka-")]).call
      [code, $stdout.string]
    ensure
      $stdout = out
    end

    test "every record is on three brokers, two of which must have it, and is sent through the proxy" do
      name = topic
      assert_equal [[1, 2, 3]], cluster.topic_rows(name).map { |row| row["isr"].sort }.uniq
      before = cluster.proxy.stats[:links].sum(&:requests)
      producer { |one| one.produce_sync(topic: name, payload: "x", partition: 1) }
      assert_equal [[1, "x"]], read(name)
      assert_operator cluster.proxy.stats[:links].sum(&:requests), :>, before
    end

    test "a broker uses less than 400 MB, and has its data after kill -9 and a restart" do
      name = topic
      producer { |one| one.produce_sync(topic: name, payload: "before", partition: 0) }
      cluster.kill(2)
      assert_equal :down, cluster.states.fetch(2)
      wait_until(30, "other leaders") { cluster.leaders(name).values.none? { |leader| [2, -1].include?(leader) } }
      producer { |one| one.produce_sync(topic: name, payload: "meanwhile", partition: 0) }
      cluster.start_node(2)
      cluster.await_healthy
      assert_equal %w[before meanwhile], read(name).map(&:last)
      cluster.nodes.each_value { |node| assert_operator node.process.rss, :<, 400 * MEGABYTES }
    end

    test "a frozen broker is replaced as leader, and follows again when it is thawed" do
      name = topic
      cluster.freeze_node(3)
      assert_equal :frozen, cluster.states.fetch(3)
      wait_until(40, "other leaders") { cluster.leaders(name).values.none? { |leader| [3, -1].include?(leader) } }
      cluster.thaw(3)
      cluster.heal
      assert wait_until(10, "broker 3 as a leader", state: -> { cluster.leaders(name) }) { cluster.leaders(name).value?(3) }
    end

    test "leaders and coordinators move to the given broker" do
      name = topic(1)
      [1, 2, 3].each do |broker|
        cluster.move_leader(name, 0, to: broker)
        # One broker reports it; the others learn of it within milliseconds.
        assert wait_until(10, "broker #{broker} as leader everywhere") {
          Array.new(5) {
            cluster.leader(name, 0)
          }.uniq == [broker]
        }
      end
      producer { |one| one.produce_sync(topic: name, payload: "x") } # now internal topics' leaders are known
      group = "group-761309731128" # its hash is negative
      Admin.open({"bootstrap.servers": cluster.direct_servers}) { |admin| admin.read_committed_offsets(group, {name => [0]}) }
      [1, 2].each do |broker|
        cluster.move_coordinator(group, to: broker)
        wait_until(40, "broker #{broker} as coordinator", state: -> { coordinator_of(group) }) { coordinator_of(group) == broker }
        assert_equal broker, cluster.coordinator(group)
      end
    end

    test "bin/kafka shows and changes leaders and coordinators" do
      code, out = kafka("status")
      assert_equal [0, 3], [code, out.scan(/^broker \d  running .* MB/).size], out
      assert_equal [0, "broker 1: frozen\n"], kafka("freeze", "1")
      assert_equal [0, "broker 1: running\n"], kafka("thaw", "1")
      code, rule = kafka("proxy", "delay", "api=fetch", "side=response", "ms=5", "broker=2")
      assert_equal [0, {rule.strip => 0}], [code, cluster.proxy.stats[:rules]]
      assert_equal 0, kafka("proxy", "clear").first
      name = topic
      # The thawed broker may not know the topic yet, and the command asks any of them.
      told = nil
      wait_until(30, "the topic on every broker", state: -> { told }) do
        (told = kafka("leaders", name).last).match?(/\A#{name}: 0→\d 1→\d 2→\d\n\z/)
      end
    end

    test "brokers end with the process that started them, also when that is killed" do
      program = <<~RUBY
        require "support/kafka_cluster"
        cluster = Penstock::TestSupport::KafkaCluster.new(name: "orphan-#{::Process.pid}", brokers: 1,
          extra: {"default.replication.factor" => 1, "min.insync.replicas" => 1})
        cluster.start
        puts cluster.env.map { |pair| pair.join("=") }.first, cluster.folder
        $stdout.flush
        Process.kill(:KILL, Process.pid)
      RUBY
      out, result = TestSupport::RubyProgram.run(program, timeout: 240)
      refute result.timed_out
      mark, folder = out.lines(chomp: true).last(2)
      wait_until(20, "the end of what it left") { TestSupport::KnownProcess.marked(mark).empty? }
      assert_path_exists File.join(folder, "cluster.json")
    ensure
      FileUtils.rm_rf(folder) if folder
    end
  end
end
