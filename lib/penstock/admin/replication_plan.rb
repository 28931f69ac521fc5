# frozen_string_literal: true

require "json"

module Penstock
  class Admin
    # Where the replicas of a topic are to be, in the form that kafka-reassign-partitions.sh takes. Immutable.
    class ReplicationPlan
      # @return [String]
      attr_reader :topic
      # @return [Integer] replicas of each partition now
      attr_reader :current_replication_factor
      # @return [Integer] and afterwards
      attr_reader :target_replication_factor
      # @return [Hash{Integer => Array<Integer>}] partition and ids of its brokers, of which the first is to lead it
      attr_reader :partitions_assignment

      # @param topic [String]
      # @param current [Hash{Integer => Array<Integer>}]
      # @param assignment [Hash{Integer => Array<Integer>}]
      # @param brokers [Array<Integer>] of the cluster
      # @api private
      def initialize(topic:, current:, current_factor:, target_factor:, assignment:, brokers:)
        @topic = topic
        @current = current
        @current_replication_factor = current_factor
        @target_replication_factor = target_factor
        @partitions_assignment = assignment
        @brokers = brokers
        freeze
      end

      # @return [String] JSON for `--reassignment-json-file`
      def reassignment_json
        JSON.pretty_generate({version: 1, partitions: @partitions_assignment.map do |partition, replicas|
          {topic: @topic, partition: partition, replicas: replicas}
        end})
      end

      # @return [String] JSON for `--topics-to-move-json-file` of `--generate`, with which Kafka makes a plan of its own
      def topics_to_move_json
        JSON.pretty_generate({version: 1, topics: [{topic: @topic}]})
      end

      # @param bootstrap_servers [String]
      # @return [Hash{Symbol => String}] `:generate`, `:execute`, `:verify`
      def execution_commands(bootstrap_servers = "BOOTSTRAP_SERVERS")
        script = "kafka-reassign-partitions.sh --bootstrap-server #{bootstrap_servers}"
        {
          generate: "#{script} --topics-to-move-json-file topics-to-move.json --broker-list #{@brokers.join(",")} --generate",
          execute: "#{script} --reassignment-json-file reassignment.json --execute",
          verify: "#{script} --reassignment-json-file reassignment.json --verify"
        }
      end

      # @return [Array<String>] what to do, in order
      def steps
        commands = execution_commands
        [
          "Write the plan: plan.export_to_file(\"reassignment.json\")",
          "Start it, and keep its output, which has the present assignment: #{commands[:execute]}",
          "Repeat until it reports that all are complete: #{commands[:verify]}"
        ]
      end

      # @return [Hash{Integer => (Array<Integer>, Array<Integer>)}] of the partitions that change, the brokers now and afterwards
      def changes
        @partitions_assignment.filter_map { |partition, replicas|
          [partition, [@current[partition], replicas]] if @current[partition] != replicas
        }.to_h
      end

      # @return [String] a few lines for a person
      def summary
        lines = changes.map { |partition, (now, then_)| "  partition #{partition}: #{now.join(", ")} -> #{then_.join(", ")}" }
        lines = ["  nothing changes"] if lines.empty?
        ["#{@topic}: #{@current_replication_factor} -> #{@target_replication_factor} replicas of #{@current.size} partitions",
          *lines]
          .join("\n")
      end

      # @param path [String]
      # @return [void]
      def export_to_file(path)
        File.write(path, "#{reassignment_json}\n")
      end

      # @param path [String]
      # @return [void]
      def export_topics_to_move_file(path)
        File.write(path, "#{topics_to_move_json}\n")
      end
    end
  end
end
