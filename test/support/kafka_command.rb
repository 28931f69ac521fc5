# frozen_string_literal: true

require "optparse"
require_relative "cluster/command"
require_relative "kafka_server"

module Penstock
  module TestSupport
    # bin/kafka: real brokers for development, from the jars of KAFKA_HOME; one broker, or a cluster.
    class KafkaCommand
      USAGE = "Usage: bin/kafka start|stop|status [--port N] [--home DIR] [--keep]"
      ERRORS = [KafkaServer::Error, KafkaCluster::Error, ClusterTools::Error, ClusterAgent::Error, FaultProxy::Error,
        Wait::TimeoutError, ArgumentError].freeze

      def initialize(arguments)
        @port = 9092
        @home = KafkaServer.home
        @keep = false
        @name = "cluster"
        @words = parser.parse(arguments)
      end

      # @return [Integer] the exit code
      def call
        return help if @help
        return cluster.call if ClusterCommand.meant?(@words, @brokers, @name)

        case @words.first
        when "start" then start
        when "stop" then stop
        when "status" then status
        else
          warn parser.help
          64
        end
      rescue *ERRORS => error
        failed(error)
      rescue => error
        raise unless defined?(Penstock::Error) && error.is_a?(Penstock::Error)
        failed(error)
      end

      private

      def help
        puts parser.help
        0
      end

      def failed(error)
        warn error.message
        1
      end

      def parser
        OptionParser.new(USAGE) do |options|
          options.separator("")
          options.separator("One broker, or with --brokers a cluster, from the jars of KAFKA_HOME (Java 17 or newer):")
          options.on("--port N", Integer, "port of the plaintext listener (9092)") { |port| @port = port }
          options.on("--home DIR", "a folder with Kafka's libs/*.jar (KAFKA_HOME)") { |home| @home = home }
          options.on("--keep", "stop: keep the data for the next start") { @keep = true }
          options.on("--brokers N", Integer, "start: a cluster of N brokers instead of one") { |count| @brokers = count }
          options.on("--name NAME", "name of the cluster (cluster)") { |name| @name = name }
          options.on("-h", "--help", "print this") { @help = true }
          options.separator("")
          options.separator(ClusterCommand::USAGE)
        end
      end

      def cluster = ClusterCommand.new(@words, brokers: @brokers, name: @name, home: @home, keep: @keep)

      def server
        @server ||= KafkaServer.new(port: @port, home: @home)
      end

      def start
        was_running = server.running?
        server.start
        puts "Kafka #{was_running ? "already runs" : "runs"} on #{server.bootstrap_servers}, data in #{server.data}"
        0
      end

      def stop
        was_running = server.running?
        server.stop(keep: @keep)
        puts was_running ? "Kafka on port #{@port} stopped" : "no Kafka of ours on port #{@port}"
        0
      end

      def status
        running = server.running? && server.ready?
        puts "Kafka runs on #{server.bootstrap_servers}, pid #{server.running_pid}" if running
        puts "no Kafka of ours on port #{@port}" unless running
        running ? 0 : 1
      end
    end
  end
end

exit Penstock::TestSupport::KafkaCommand.new(ARGV).call if $PROGRAM_NAME == __FILE__
