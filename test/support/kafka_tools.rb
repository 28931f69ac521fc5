# frozen_string_literal: true

require "tempfile"
require_relative "child"
require_relative "kafka_server"

module Penstock
  module TestSupport
    # Kafka's own command line tools: what they report about changes of ours, and the other way round. Each run starts a JVM,
    # which takes seconds: a test calls them once for several checks.
    class KafkaTools
      CLASSES = {
        configs: "kafka.admin.ConfigCommand", acls: "org.apache.kafka.tools.AclCommand",
        groups: "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        reassign: "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
      }.freeze
      SECONDS = 120

      # @param bootstrap_servers [String]
      def initialize(bootstrap_servers)
        @bootstrap_servers = bootstrap_servers
      end

      # @param tool [Symbol] a key of {CLASSES}
      # @return [String] what it printed
      def run(tool, *arguments)
        Tempfile.create("kafka-tool") do |output|
          command = ["java", *KafkaServer::QUICK_JVM, "-cp", File.join(KafkaServer.home, "libs/*"), CLASSES.fetch(tool),
            "--bootstrap-server", @bootstrap_servers, *arguments]
          result = Child.run(command, timeout: SECONDS * Wait::TIME_FACTOR, out: output.path, err: [:child, :out])
          text = File.read(output.path)
          raise "#{tool} #{arguments.join(" ")} #{result}: #{text}" unless result.success?

          text
        end
      end
    end
  end
end
