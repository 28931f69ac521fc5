# frozen_string_literal: true

require "fileutils"
require "socket"
require_relative "known_process"
require_relative "node_properties"
require_relative "tools"

module Penstock
  module TestSupport
    # One broker of a test cluster: a Java process with a folder. It can be stopped in order, killed, frozen and started
    # again; its data stay until the cluster is removed. The process is identified by number and start time.
    class ClusterNode
      START_SECONDS = 90
      STOP_SECONDS = 40
      # Heap and everything else stay below 400 MB (a test measures it): a third of what Kafka's own scripts give a
      # broker.
      HEAP = %w[-Xms64m -Xmx224m -XX:MaxMetaspaceSize=96m -XX:ReservedCodeCacheSize=48m -XX:MaxDirectMemorySize=48m].freeze

      # @return [Integer]
      attr_reader :id
      # @return [Hash{Symbol => Integer}]
      attr_reader :ports
      # @return [String]
      attr_reader :folder
      # @return [KnownProcess, nil] of its last start
      attr_accessor :process

      # @param id [Integer]
      # @param ports [Hash{Symbol => Integer}] client, internal, controller, public
      # @param folder [String]
      # @param home [String] KAFKA_HOME
      # @param env [Hash] of the process
      def initialize(id:, ports:, folder:, home:, env: {})
        @id = id
        @ports = ports
        @folder = folder
        @home = home
        @env = env
      end

      # @param cluster_id [String]
      # @param voters [Hash{Integer => Integer}]
      def prepare(cluster_id, voters, extra)
        FileUtils.mkdir_p(@folder)
        File.write(properties, NodeProperties.new(node: @id, ports: @ports, voters: voters, data: data, extra: extra).to_s)
        return if File.exist?(File.join(data, "meta.properties"))

        ::Process.wait(java("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", properties, jvm: ["-Xmx128m"]))
        raise ClusterTools::Error, "broker #{@id} could not be formatted:\n#{log_tail}" unless $?.success?
      end

      # Returns at once; {#await} waits until it answers.
      def start
        raise ClusterTools::Error, "broker #{@id} already runs" if alive?

        @process = KnownProcess.new(java("kafka.Kafka", properties, jvm: [*HEAP, archive_option], before: %w[nice -n 5]))
      end

      def await
        Wait.wait_until(START_SECONDS, "an answer of broker #{@id}", state: -> { log_tail }, every: 0.05) do
          raise ClusterTools::Error, "broker #{@id} has ended:\n#{log_tail}" unless alive?
          ready?
        end
      end

      # Stops the broker in order: leaders move first.
      def stop
        @process&.end_within(STOP_SECONDS)
        File.rename(new_archive, archive) if File.exist?(new_archive)
      end

      def kill = @process&.kill

      # Freezes the broker; returns when all its threads are stopped.
      def suspend
        @process&.signal(:STOP)
        Wait.wait_until(5, "broker #{@id} to be frozen") { frozen? }
      end

      def resume = @process&.signal(:CONT)
      def alive? = @process&.alive? || false
      def frozen? = alive? && @process.stopped?

      # @return [Symbol] :running, :frozen, :down
      def state
        return :down unless alive?
        frozen? ? :frozen : :running
      end

      # Whether it answers the first request of each client (ApiVersions, version 0).
      def ready?
        Socket.tcp("127.0.0.1", @ports.fetch(:client), connect_timeout: 1) do |socket|
          body = [18, 0, 1, 4, "test"].pack("s>s>l>s>a4")
          socket.write([body.bytesize].pack("l>") + body)
          socket.wait_readable(2) && socket.read(4)&.bytesize == 4
        end
      rescue SystemCallError, IOError
        false
      end

      def log_path = File.join(@folder, "server.log")

      def log_tail = File.exist?(log_path) ? File.readlines(log_path).last(15).join : "(no log)"

      private

      # The first broker that ends in order writes an archive of the classes it has loaded; those that start later start
      # faster.
      def archive_option
        File.exist?(archive) ? "-XX:SharedArchiveFile=#{archive}" : "-XX:ArchiveClassesAtExit=#{new_archive}"
      end

      def archive = ClusterTools.archive(@home)
      def new_archive = File.join(@folder, "classes.jsa")
      def properties = File.join(@folder, "server.properties")
      def data = File.join(@folder, "data")

      # In a process group of its own: Ctrl-C goes to the test run only, which then stops its brokers.
      def java(main, *arguments, jvm:, before: [])
        ::Process.spawn(@env, *before, "java", *ClusterTools::JVM, *jvm, *log_option, "-cp", File.join(@home, "libs/*"), main,
          *arguments, :in => File::NULL, %i[out err] => [log_path, "a"], :pgroup => true)
      end

      def log_option = ["-Dlog4j2.configurationFile=#{File.join(__dir__, "log4j2.properties")}", "-Dkafka.logs.dir=#{@folder}"]
    end
  end
end
