# frozen_string_literal: true

require_relative "../command"
require_relative "../target"
require_relative "../topics/deletion"

module Penstock
  module CLI
    module Commands
      # Deletes topics with all their messages. Asks before it does; scripts pass `--yes`.
      class TopicsDelete < Command
        include Topics::Deletion

        command "topics delete", "Deletes topics and all their messages", usage: "NAME… [options]", arguments: (1..)
        details <<~TEXT
          Refuses topics that are declared with `protect`, and topics that members of a consumer group read. If one is refused, none
          is deleted. With --bootstrap no application is loaded, and so no `protect` is known.
        TEXT

        private

        def define(parser)
          Target.define_with_timeout(parser)
          parser.flag(:yes, "--yes", "don't ask")
        end

        def call(words)
          return ExitCodes::FAILED unless agreed?("Delete #{words.join(", ")} and all their messages?")

          target = Target.new(context, options)
          target.admin do |admin|
            return ExitCodes::FAILED unless deletable?(admin, words, target.application)

            results = words.map { |name| delete(admin, name) }
            results.all? ? ExitCodes::OK : ExitCodes::FAILED
          end
        end
      end
    end
  end
end
