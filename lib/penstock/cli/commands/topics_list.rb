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
          return say("no topics that this user may see") if rows.empty?

          say Table.new(%w[topic partitions replicas], rows.map(&:values))
        end

        def describe(admin)
          topics = admin.topics(internal: options.fetch(:internal, false), details: true)
          topics.map { |name, topic| {name: name, partitions: topic[:partitions], replicas: topic[:replication_factor]} }
        end
      end
    end
  end
end
