# frozen_string_literal: true

require "fileutils"
require "socket"
require "tmpdir"
require_relative "clock"

module Bench
  # The real broker of a run: one of its own, started from KAFKA_HOME on a free port and ended by its pid, or the one
  # that KAFKA_BOOTSTRAP_SERVERS names, which is left as it was (its topics of the name "bench-*" stay).
  class Broker
    CLUSTER_ID = "bW9ja2luZ2JpcmRiZW5jaA"

    attr_reader :bootstrap, :pid, :home

    def self.open(home:, bootstrap: ENV["KAFKA_BOOTSTRAP_SERVERS"])
      broker = new(home: home, bootstrap: bootstrap)
      broker.start unless bootstrap
      yield broker
    ensure
      broker&.stop
    end

    def initialize(home:, bootstrap: nil)
      @home = home
      @bootstrap = bootstrap
    end

    def start
      raise "no Kafka in #{home}: set KAFKA_HOME or KAFKA_BOOTSTRAP_SERVERS" unless File.directory?(libs)

      @folder = Dir.mktmpdir("penstock-bench-kafka")
      port, controller = free_ports(2)
      @bootstrap = "127.0.0.1:#{port}"
      File.write(properties, settings(port, controller))
      system(*java("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", properties),
        out: log, err: [:child, :out], exception: true)
      @pid = Process.spawn(*java("kafka.Kafka", properties, memory: %w[-Xms256m -Xmx768m]), [:out, :err] => [log, "a"])
      await_port(port)
    end

    def stop
      return unless @pid

      Process.kill("TERM", @pid)
      Process.wait(@pid)
      @pid = nil
      FileUtils.remove_entry(@folder)
    end

    # @return [Float, nil] CPU seconds the broker has used; nil when it isn't ours
    def cpu_seconds
      return unless @pid

      fields = File.read("/proc/#{@pid}/stat").split(") ").last.split
      (fields[11].to_i + fields[12].to_i) / 100.0
    end

    def version
      jar = Dir[File.join(libs, "kafka-server-[0-9]*.jar")].first
      jar ? "Apache Kafka #{File.basename(jar)[/\d[\d.]*\d/]}" : "unknown"
    end

    # Command line of one of the Java tools.
    def java(main, *arguments, memory: %w[-Xmx512m])
      ["java", *memory, "-Dlog4j2.configurationFile=#{File.join(home, "log4j2.properties")}",
        "-cp", File.join(libs, "*"), main, *arguments]
    end

    private

    def libs = File.join(home, "libs")

    def properties = File.join(@folder, "server.properties")

    def log = File.join(@folder, "kafka.log")

    def await_port(port)
      Bench.await("the broker (its log: #{log})", seconds: 60) do
        raise "the broker ended:\n#{File.readlines(log).last(15).join}" if Process.wait(@pid, Process::WNOHANG)

        File.read(log).include?("Kafka Server started") || connects?(port)
      end
    end

    def connects?(port)
      TCPSocket.new("127.0.0.1", port).close
      true
    rescue SystemCallError
      false
    end

    def free_ports(count)
      servers = Array.new(count) { TCPServer.new("127.0.0.1", 0) }
      servers.map { |server| server.addr[1] }
    ensure
      servers&.each(&:close)
    end

    # One node, one copy of everything, and groups that do not wait for more members.
    def settings(port, controller)
      <<~PROPERTIES
        process.roles=broker,controller
        node.id=1
        controller.quorum.voters=1@127.0.0.1:#{controller}
        listeners=PLAINTEXT://127.0.0.1:#{port},CONTROLLER://127.0.0.1:#{controller}
        advertised.listeners=PLAINTEXT://127.0.0.1:#{port}
        controller.listener.names=CONTROLLER
        log.dirs=#{File.join(@folder, "data")}
        group.initial.rebalance.delay.ms=0
        group.coordinator.rebalance.protocols=classic,consumer,share
        offsets.topic.num.partitions=10
        offsets.topic.replication.factor=1
        transaction.state.log.replication.factor=1
        transaction.state.log.min.isr=1
        share.coordinator.state.topic.replication.factor=1
        share.coordinator.state.topic.min.isr=1
        auto.create.topics.enable=false
      PROPERTIES
    end
  end
end
