# frozen_string_literal: true

require_relative "../command"
require_relative "../target"

module Penstock
  module CLI
    module Commands
      # Deletes topics with all their messages. Asks before it does; scripts pass `--yes`.
      class TopicsDelete < Command
        command "topics delete", "Deletes topics and all their messages", usage: "NAME… [options]", arguments: (1..)

        private

        def define(parser)
          Target.define_with_timeout(parser)
          parser.flag(:yes, "--yes", "don't ask")
        end

        def call(words)
          return ExitCodes::FAILED unless options[:yes] || agreed?(words)

          Target.new(context, options).admin do |admin|
            results = words.map { |name| delete(admin, name) }
            results.all? ? ExitCodes::OK : ExitCodes::FAILED
          end
        end

        def agreed?(words)
          fail_usage "this deletes messages permanently; pass --yes where no terminal can confirm it" unless context.stdin.tty?

          confirmed?("Delete #{words.join(", ")} and all their messages?")
        end

        def delete(admin, name)
          admin.delete_topic(name)
          say "deleted #{name}"
          true
        rescue KafkaError => error
          missing = error.code == :unknown_topic_or_part
          warn_user "#{name}: #{missing ? "there is no such topic" : error.message.delete_prefix("#{name}: ")}"
          false
        end
      end
    end
  end
end
