# frozen_string_literal: true

require_relative "../command"
require_relative "../table"
require_relative "../target"

module Penstock
  module CLI
    module Commands
      # Lists the topics of the cluster with their sizes.
      class TopicsList < Command
        command "topics list", "Lists the topics of the cluster"

        private

        def define(parser)
          Target.define_with_timeout(parser)
          parser.flag(:internal, "--internal", "also Kafka's internal topics, whose names begin with __")
          parser.flag(:json, "--json", "as JSON")
        end

        def call(_words)
          rows = Target.new(context, options).admin { |admin| describe(admin) }
          return say_json(rows) if options[:json]
          return say("no topics") if rows.empty?

          say Table.new(%w[topic partitions replicas], rows.map(&:values))
        end

        # A topic that is deleted in the meantime is left out.
        def describe(admin)
          admin.topics(internal: options.fetch(:internal, false)).keys.filter_map do |name|
            info = admin.topic_info(name)
            {name: name, partitions: info[:partition_count], replicas: info[:replication_factor]}
          rescue KafkaError => error
            raise unless error.code == :unknown_topic_or_part
          end
        end
      end
    end
  end
end
