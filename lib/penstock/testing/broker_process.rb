# frozen_string_literal: true

require "json"
require_relative "../native"
require_relative "../native/embedded_control_client"
require_relative "../native/mock_cluster"
require_relative "client_settings"
require_relative "control_commands"
require_relative "control_server"
require_relative "port_forwarder"

module Penstock
  module Testing
    # Runs the embedded broker: one process with librdkafka's mock cluster and its control socket. It owns the process:
    # INT and TERM end it, and so does the end of a watched stream, which makes it end with its parent. Run by `penstock
    # broker` and, as a child, by {Cluster}.
    class BrokerProcess
      # Group timeouts for tests: the first assignment at once. The others are those of members of KIP-848 groups; members of
      # classic groups send their own.
      GROUP_TIMES = {
        "initial_rebalance_delay_ms" => 50, "session_timeout_ms" => ClientSettings::SESSION_TIMEOUT_MS,
        "heartbeat_interval_ms" => ClientSettings::HEARTBEAT_INTERVAL_MS
      }.freeze
      # The mock cluster's fixed number for topics created on demand; used for all others too.
      DEFAULT_PARTITIONS = 4
      private_constant :GROUP_TIMES

      # Runs a broker until it is stopped.
      #
      # @param port [Integer] port of the first broker; 0 for a free one
      # @param partitions [Integer] of topics created without a number
      # @param brokers [Integer] 1 to 64
      # @param topics [Hash{String=>Integer}] created at the start: name and number of partitions
      # @param watch [IO, nil] ends the broker when this becomes readable or ends
      # @param format [:text, :json] format of the output once it listens
      # @return [Integer] exit code
      # @raise [ConfigurationError] the port is in use
      def self.run(**options)
        new(**options).run
      end

      def initialize(port: 0, partitions: DEFAULT_PARTITIONS, brokers: 1, topics: {}, watch: nil, format: :text,
        out: $stdout)
        @port = port
        @partitions = partitions
        @brokers = brokers
        @topics = topics
        @watch = watch
        @format = format
        @out = out
      end

      def run
        open
        signal = signal_stream
        announce
        @control.serve([signal, @watch].compact)
        0
      ensure
        close
      end

      private

      def open
        @cluster = Native::MockCluster.new(brokers: @brokers)
        @commands = ControlCommands.new(@cluster, brokers: @brokers, partitions: @partitions)
        @commands.call("group_times", GROUP_TIMES)
        @topics.each { |name, partitions| @commands.call("create", "topic" => name, "partitions" => partitions) }
        @control = ControlServer.new(@commands)
        (1..@brokers).each { |broker| @cluster.set_rack(broker, Native::EmbeddedControlClient.rack(@control.port)) }
        @forwarder = PortForwarder.new(@port, first_broker) unless @port.zero?
      end

      def close
        [@forwarder, @control, @commands, @cluster].compact.each(&:close)
      end

      def first_broker
        @cluster.bootstrap_servers.split(",").first
      end

      def bootstrap_servers
        @port.zero? ? @cluster.bootstrap_servers : "127.0.0.1:#{@port}"
      end

      # A trap only writes a byte, which the loop reads.
      def signal_stream
        reader, writer = IO.pipe
        %w[INT TERM].each { |name| trap(name) { writer.write_nonblock("!", exception: false) } }
        reader
      end

      def announce
        ::Process.setproctitle("penstock broker #{bootstrap_servers}")
        @out.puts((@format == :json) ? facts : banner)
        @out.flush
      end

      def facts
        JSON.generate(pid: ::Process.pid, bootstrap_servers: bootstrap_servers, control_port: @control.port)
      end

      def banner
        <<~TEXT
          An embedded broker listens at #{bootstrap_servers} (stop: Ctrl-C).
          Topics: #{topic_list}
          Any Kafka client may use it, for development and tests only:
          * everything is in memory and gone when it stops
          * a partition keeps its newest 5 MiB or 100,000 batches; older records are deleted silently
          * a topic created on first use has #{DEFAULT_PARTITIONS} partitions; use `penstock topics create` for other numbers
          * no authentication, no access control, no TLS; administration is limited to creating, deleting and listing topics
          Settings it needs: fetch.wait.max.ms=#{ClientSettings::FETCH_WAIT_MAX_MS} (an empty fetch always waits this long),
          session.timeout.ms=#{ClientSettings::SESSION_TIMEOUT_MS} (a killed member keeps its partitions this long).
        TEXT
      end

      def topic_list
        return "none yet" if @topics.empty?

        @topics.map { |name, partitions| "#{name} (#{partitions})" }.join(", ")
      end
    end
  end
end

# As a child of Cluster: options as JSON in the first argument, ends with standard input.
if $PROGRAM_NAME == __FILE__
  options = JSON.parse(ARGV.fetch(0))
  exit Penstock::Testing::BrokerProcess.run(
    topics: options.delete("topics"), **options.transform_keys(&:to_sym), watch: $stdin, format: :json
  )
end
