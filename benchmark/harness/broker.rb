# frozen_string_literal: true

require_relative "../../test/support/kafka_server"

module Bench
  # The real broker of a run: one of its own, started from KAFKA_HOME on a free port and ended with the run, or the one
  # that KAFKA_BOOTSTRAP_SERVERS names, which isn't changed (but topics named "bench-…" stay in it).
  class Broker
    # Raised when a run's requirements are missing.
    class Missing < StandardError; end

    attr_reader :bootstrap, :home

    # @yieldparam broker [Broker] ready to be used
    def self.open(bootstrap: ENV["KAFKA_BOOTSTRAP_SERVERS"])
      broker = new(bootstrap)
      yield broker
    ensure
      broker&.stop
    end

    def initialize(bootstrap)
      @home = Penstock::TestSupport::KafkaServer.home
      raise Missing, "set KAFKA_HOME: topics are created and filled with Kafka's own tools, on any broker" unless @home

      @server = Penstock::TestSupport::KafkaServer.new.start unless bootstrap
      @bootstrap = bootstrap || @server.bootstrap_servers
    end

    def stop
      @server&.stop
    end

    # @return [Float, nil] CPU seconds the broker has used; nil when it isn't ours
    def cpu_seconds
      return unless @server

      fields = File.read("/proc/#{@server.running_pid}/stat").split(") ").last.split
      (fields[11].to_i + fields[12].to_i) / 100.0
    end

    def version = self.class.version_of(home)

    # @param home [String] KAFKA_HOME
    # @return [String]
    def self.version_of(home)
      jar = Dir[File.join(home, "libs/kafka-server-[0-9]*.jar")].first
      jar ? "Apache Kafka #{File.basename(jar)[/\d[\d.]*\d/]}" : "unknown"
    end

    # @return [Array<String>] command line of one of the Java tools
    def java(main, *arguments)
      ["java", "-Xmx512m", "-Dlog4j2.configurationFile=#{File.join(home, "log4j2.properties")}",
        "-cp", File.join(libs, "*"), main, *arguments]
    end

    private

    def libs = File.join(home, "libs")
  end
end
