# frozen_string_literal: true

require_relative "../command"
require_relative "../table"
require_relative "../target"

module Penstock
  module CLI
    module Commands
      # Topics of the cluster with their sizes.
      class TopicsList < Command
        command "topics list", "Lists the topics of the cluster"

        private

        def define(parser)
          Target.define(parser)
          parser.flag(:internal, "--internal", "also those of Kafka itself, whose names begin with __")
          parser.flag(:json, "--json", "as JSON")
        end

        def call(_words)
          topics = Target.new(context, options).cluster { |cluster| cluster.topics }
          topics = topics.reject { |topic| topic[:name].start_with?("__") } unless options[:internal]
          return say_json(topics) if options[:json]
          return say("no topics") if topics.empty?

          say Table.new(%w[topic partitions replicas], topics.map { |topic| topic.values_at(:name, :partitions, :replicas) })
        end
      end
    end
  end
end
