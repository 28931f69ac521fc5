# frozen_string_literal: true

require "fileutils"
require "json"
require "securerandom"
require "socket"
require_relative "cluster/tools"
require_relative "free_port"
require_relative "kafka_properties"
require_relative "wait"

module Penstock
  module TestSupport
    # One real Kafka broker from the jars of KAFKA_HOME, in a process and a folder of its own. It outlives the process
    # that started it; the caller that starts it stops it. The state file names the process by pid *and* start time, so
    # that a pid which another process got since is never signalled.
    class KafkaServer
      START_SECONDS = 120
      STOP_SECONDS = 20
      # By default the broker runs as users run it, so that measurements against it are meaningful. For a test run it is
      # started without the compiler that pays off only after minutes: half the start-up time, half the work. A tool
      # that runs for a second is started in the cheapest way.
      BROKER_JVM = %w[-Xms256m -Xmx768m].freeze
      TEST_JVM = [*BROKER_JVM, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"].freeze
      QUICK_JVM = %w[-Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1].freeze

      class Error < StandardError; end

      attr_reader :port, :data

      # @param jvm [Array<String>]
      # @return [Array<String>] the same options and the archive of Kafka's classes, where a broker of a test cluster has
      #   written one: then Java needs two thirds of the time for its start. Not for a broker that runs as users run it
      def self.quick(jvm, home = self.home)
        archive = ClusterTools.archive(home)
        (jvm == BROKER_JVM || !File.exist?(archive)) ? jvm : [*jvm, "-XX:SharedArchiveFile=#{archive}"]
      end

      # @return [String, nil] a folder with Kafka's jars: KAFKA_HOME, or the one next to the repository
      def self.home
        beside = File.expand_path("../../../shared/kafka", __dir__)
        given = ENV.fetch("KAFKA_HOME", File.directory?(beside) ? beside : "")
        given unless given.empty?
      end

      # @return [String, nil] why no broker can be started here
      def self.obstacle(home = self.home)
        return "KAFKA_HOME is not set" unless home
        return "KAFKA_HOME (#{home}) has no libs/*.jar" if Dir[File.join(home, "libs/*.jar")].empty?

        "no java on the PATH (Java 17 is needed)" unless system("java", "-version", out: File::NULL, err: File::NULL)
      end

      def self.default_data(port)
        File.expand_path("../../tmp/kafka-#{port}", __dir__)
      end

      # Stops the brokers of test runs that were killed before they could.
      def self.stop_orphans
        Dir[default_data("*") + "/state.json"].each do |path|
          server = new(port: nil, data: File.dirname(path))
          server.stop if server.orphan?
        end
      end

      # @param owner [Integer, nil] the process that the broker is for; without one it runs until somebody stops it
      # @param listeners [Array<KafkaProperties::Listener>] in addition to the plaintext one
      # @param extra [Hash{String => Object}] properties of the broker
      # @param format [Array<String>] more arguments for the command that formats its folder, for example `--add-scram`
      # @param jvm [Array<String>] options with which the broker's Java is started
      def initialize(port: FreePort.take.first, home: self.class.home, data: nil, owner: nil, listeners: [], extra: {},
        format: [], jvm: BROKER_JVM)
        @port = port
        @home = home
        @data = data || self.class.default_data(port)
        @owner = owner
        @listeners = listeners
        @extra = extra
        @format = format
        @jvm = jvm
      end

      def bootstrap_servers
        "127.0.0.1:#{@port}"
      end

      # Starts the broker and returns when it answers; does nothing when it already runs.
      def start
        return self if running?

        obstacle = self.class.obstacle(@home)
        raise Error, "Kafka can't be started: #{obstacle}" if obstacle
        raise Error, "port #{@port} is used by another process" if listening?

        prepare
        write_state(spawn_java("kafka.Kafka", properties_path, jvm: @jvm))
        await_ready
        self
      end

      # @param keep [Boolean] whether the data stay, for a later start
      def stop(keep: false)
        pid = running_pid
        if pid
          ::Process.kill(:TERM, pid)
          kill_hard(pid) unless gone_within?(pid, STOP_SECONDS)
        end
        FileUtils.rm_f(state_path)
        FileUtils.rm_rf(@data) unless keep
        self
      end

      # Kills the broker without a shutdown, for tests of broker failures.
      def kill
        pid = running_pid
        kill_hard(pid) if pid
        FileUtils.rm_f(state_path)
        self
      end

      def running?
        !running_pid.nil?
      end

      def ready?
        Socket.tcp("127.0.0.1", @port, connect_timeout: 1) { |socket| answers_api_versions?(socket) }
      rescue SystemCallError, IOError
        false
      end

      def running_pid
        kept = state
        kept["pid"] if kept["pid"] && started_at(kept["pid"]) == kept["started"]
      end

      # Whether the process that it was started for has ended.
      def orphan?
        state.key?("owner") && started_at(state["owner"]) != state["owner_started"]
      end

      def log_path
        File.join(@data, "server.log")
      end

      private

      def prepare
        FileUtils.mkdir_p(@data)
        File.write(properties_path, properties)
        return if File.exist?(File.join(@data, "logs/meta.properties"))

        id = SecureRandom.urlsafe_base64(16).sub(/\A-/, "A") # an id that begins with a dash is taken for an option
        pid = spawn_java("kafka.tools.StorageTool", "format", "-t", id, "-c", properties_path, *@format,
          jvm: QUICK_JVM)
        _, status = ::Process.wait2(pid)
        raise Error, "formatting #{@data} failed:\n#{log_tail}" unless status.success?
      end

      def properties
        controller = FreePort.take.first
        KafkaProperties.new(port: @port, controller_port: controller, data: File.join(@data, "logs"),
          listeners: @listeners, extra: @extra).to_s
      end

      # A process group of its own: Ctrl-C goes to the test run only, which then stops the broker itself.
      def spawn_java(main, *arguments, jvm:)
        ::Process.spawn("java", *self.class.quick(jvm, @home), *log_option, "-cp", File.join(@home, "libs/*"), main, *arguments,
          :in => File::NULL, %i[out err] => [log_path, "a"], :pgroup => true)
      end

      # A folder with only jars has the first file, a whole Kafka installation one of the others.
      def log_option
        path = %w[log4j2.properties config/log4j2.yaml config/log4j2.properties].map { |name| File.join(@home, name) }
          .find { |candidate| File.exist?(candidate) }
        ["-Dlog4j2.configurationFile=#{path}", "-Dkafka.logs.dir=#{@data}"] if path
      end

      def await_ready
        pid = running_pid
        reaper = ::Process.detach(pid)
        Wait.wait_until(START_SECONDS, "answer from Kafka on port #{@port}", state: -> { log_tail }, every: 0.05) do
          raise Error, "Kafka ended while starting:\n#{log_tail}" unless reaper.alive?

          ready?
        end
      end

      # Sends ApiVersions, version 0: the first request of a client. A broker that answers serves clients.
      def answers_api_versions?(socket)
        body = [18, 0, 1, 4, "test"].pack("s>s>l>s>a4")
        socket.write([body.bytesize].pack("l>") + body)
        socket.wait_readable(2) && socket.read(4)&.bytesize == 4
      end

      def listening?
        Socket.tcp("127.0.0.1", @port, connect_timeout: 1, &:close)
        true
      rescue SystemCallError
        false
      end

      def gone_within?(pid, seconds)
        Wait.wait_until(seconds, every: 0.05) { started_at(pid).nil? }
      rescue Wait::TimeoutError
        false
      end

      def kill_hard(pid)
        ::Process.kill(:KILL, pid)
        gone_within?(pid, STOP_SECONDS)
      rescue Errno::ESRCH
        nil
      end

      # Field 22 of stat, counted after the command's closing parenthesis; nil for a process that has ended or is a
      # zombie.
      def started_at(pid)
        fields = File.read("/proc/#{pid}/stat").rpartition(") ").last.split
        fields[19] unless fields[0] == "Z"
      rescue Errno::ENOENT, Errno::ESRCH
        nil
      end

      def write_state(pid)
        owner = @owner ? {owner: @owner, owner_started: started_at(@owner)} : {}
        File.write(state_path, JSON.generate(pid: pid, started: started_at(pid), port: @port, **owner))
      end

      # The state that write_state wrote; empty when there is no broker.
      def state
        JSON.parse(File.read(state_path))
      rescue Errno::ENOENT, JSON::ParserError
        {}
      end

      def state_path
        File.join(@data, "state.json")
      end

      def properties_path
        File.join(@data, "server.properties")
      end

      def log_tail
        File.exist?(log_path) ? File.readlines(log_path).last(15).join : "(no log)"
      end
    end
  end
end
