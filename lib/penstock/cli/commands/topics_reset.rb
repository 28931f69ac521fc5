# frozen_string_literal: true

require_relative "../topics/command"
require_relative "../topics/deletion"

module Penstock
  module CLI
    module Commands
      # Deletes declared topics with all their messages and creates them again.
      class TopicsReset < Topics::Command
        include Topics::Deletion

        command "topics reset", "Deletes declared topics with all their messages, and creates them again",
          usage: "NAME… [options]", arguments: (1..)
        details <<~TEXT
          The new topics are as declared. Committed offsets of consumer groups stay and point beyond the end of the new topics until
          they are reset; `auto.offset.reset` decides what happens then.

          Refuses topics that are declared with `protect`, and topics that members of a consumer group read.
        TEXT

        private

        def define(parser)
          Target.define_with_timeout(parser)
          parser.flag(:yes, "--yes", "don't ask")
        end

        def call(words)
          all = declared
          topics = words.map { |name| all.find { |topic| topic.name == name } || undeclared(name, all) }
          return ExitCodes::FAILED unless agreed?("Delete #{words.join(", ")} and all their messages, and create them again?")

          connected do |admin|
            return ExitCodes::FAILED unless deletable?(admin, words, target.application)

            topics.map { |topic| reset(admin, topic) }.all? ? ExitCodes::OK : ExitCodes::FAILED
          end
        end

        def undeclared(name, all)
          require_relative "../../nearest"
          fail_usage ["#{name} isn't declared, so it can't be created again",
            Nearest.hint(name, all.map(&:name))].compact.join(". ")
        end

        def reset(admin, topic)
          exists = admin.topics.key?(topic.name)
          return false if exists && !delete(admin, topic.name)

          admin.create_topic(topic.name, partitions: topic.partitions, replication_factor: topic.replication_factor,
            config: topic.config)
          say "created #{topic.name}"
          true
        rescue KafkaError, WaitTimeoutError => error
          warn_user "#{topic.name}: #{Printable.error(error, 300)}. " \
                    "If it is missing now: penstock topics create creates declared topics"
          false
        end
      end
    end
  end
end
