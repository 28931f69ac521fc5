# frozen_string_literal: true

require_relative "../../instrumentation/kafka_hints"
require_relative "../topics/command"

module Penstock
  module CLI
    module Commands
      # Creates the topics that are named; without a name, those that are declared and missing. A named topic that exists is left
      # as it is and counts as a failure, unless `--if-missing`.
      class TopicsCreate < Topics::Command
        command "topics create", "Creates topics", usage: "[NAME…] [options]", arguments: (0..)
        details <<~TEXT
          Without a name: creates the declared topics that are missing, with partitions, replicas and properties as declared.

          With names: one that is declared is created as declared, and takes no options. Any other has one partition with one copy
          unless options set more; set both on a cluster of several brokers.

            penstock topics create orders --partitions 6 --replication-factor 3 --config retention.ms=604800000
        TEXT

        ONE_TOPIC = %i[partitions replication_factor config if_missing].freeze
        private_constant :ONE_TOPIC

        private

        def define(parser)
          super
          define_changing(parser)
          parser.number(:partitions, "-p", "--partitions N", "partitions of each (1)")
          parser.number(:replication_factor, "-r", "--replication-factor N", "copies of each partition (1)")
          parser.pairs(:config, "-c", "--config NAME=VALUE", "a setting of the topic; may be repeated")
          parser.flag(:if_missing, "--if-missing", "an existing topic is no error")
        end

        def call(words)
          return create_declared if words.empty?

          wanted = words.to_h { |name| [name, as_declared(name) || as_given] }
          target.admin do |admin|
            results = wanted.map { |name, topic| create(admin, name, topic) }
            results.all? ? ExitCodes::OK : ExitCodes::FAILED
          end
        end

        def create_declared
          given = ONE_TOPIC & options.keys
          fail_usage "name a topic: --#{given.first.to_s.tr("_", "-")} is for named ones" if given.any?
          change_declared(:create)
        end

        # @return [Hash, nil] as for {Admin#create_topic}; nil if the application doesn't declare it
        def as_declared(name)
          topic = target.application&.declaratives&.find_topic(name) or return
          given = (ONE_TOPIC & options.keys - [:if_missing]).map { |option| "--#{option.to_s.tr("_", "-")}" }
          fail_usage "#{name} is declared, so #{given.first} isn't for it: change its declaration" if given.any?

          {partitions: topic.partitions, replication_factor: topic.replication_factor, config: topic.config}
        end

        def as_given
          {partitions: 1, replication_factor: 1, config: {}}.merge(options.slice(:partitions, :replication_factor, :config))
        end

        def create(admin, name, topic)
          admin.create_topic(name, **topic)
          say "created #{name}"
          true
        rescue KafkaError => error
          exists = error.code == :topic_already_exists
          refusal = [error.message.delete_prefix("#{name}: "), Instrumentation::KafkaHints.of(error)].compact.join(". ")
          warn_user "#{name}: #{exists ? "already exists" : refusal}"
          exists && options.key?(:if_missing)
        end
      end
    end
  end
end
