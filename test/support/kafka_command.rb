# frozen_string_literal: true

require "optparse"
require_relative "kafka_server"

module Penstock
  module TestSupport
    # bin/kafka: a real broker for development, from the jars of KAFKA_HOME.
    class KafkaCommand
      USAGE = "Usage: bin/kafka start|stop|status [--port N] [--home DIR] [--keep]"

      def initialize(arguments)
        @port = 9092
        @home = KafkaServer.home
        @keep = false
        @action, = parser.parse(arguments)
      end

      # @return [Integer] the exit code
      def call
        case @action
        when "start" then start
        when "stop" then stop
        when "status" then status
        else
          warn parser.help
          64
        end
      rescue KafkaServer::Error, Wait::TimeoutError => error
        warn error.message
        1
      end

      private

      def parser
        OptionParser.new(USAGE) do |options|
          options.on("--port N", Integer, "port of the plaintext listener (9092)") { |port| @port = port }
          options.on("--home DIR", "a folder with Kafka's libs/*.jar (KAFKA_HOME)") { |home| @home = home }
          options.on("--keep", "stop: keep the data for the next start") { @keep = true }
        end
      end

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
