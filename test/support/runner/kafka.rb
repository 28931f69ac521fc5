# frozen_string_literal: true

require_relative "../kafka_server"

module Penstock
  module TestSupport
    module Runner
      # The real Kafka of a test run: the one that the environment names, or one started at first use and stopped at the
      # end.
      class Kafka
        def initialize(out)
          @out = out
        end

        # @return [String, nil] nil when there can't be one here
        def bootstrap_servers
          given || (@server || start)&.bootstrap_servers
        end

        # @return [String, nil] why there is none, before anything is started
        def obstacle
          KafkaServer.obstacle unless given
        end

        def env
          {"KAFKA_BOOTSTRAP_SERVERS" => bootstrap_servers.to_s, "KAFKA_HOME" => KafkaServer.home.to_s}
        end

        def stop
          @server&.stop
        end

        private

        def given
          address = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
          address unless address.empty?
        end

        def start
          return if @tried

          @tried = true
          obstacle = KafkaServer.obstacle
          return explain(obstacle) if obstacle

          KafkaServer.stop_orphans
          server = KafkaServer.new(owner: ::Process.pid, jvm: KafkaServer::TEST_JVM)
          @server = server # before it starts: an interrupt in between must find it
          server.start
          @out.puts("Kafka runs on #{server.bootstrap_servers}")
          server
        end

        def explain(obstacle)
          @out.puts("no real Kafka: #{obstacle}")
          nil
        end
      end
    end
  end
end
