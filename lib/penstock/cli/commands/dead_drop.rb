# frozen_string_literal: true

require_relative "../dead/command"

module Penstock
  module CLI
    module Commands
      # Marks dead letters as handled, so that they are no longer listed or replayed.
      class DeadDrop < Dead::Command
        command "dead drop", "Removes dead letters from the list", usage: "TOPIC [options]", arguments: 1..1
        details <<~TEXT
          Kafka can't delete a single message: the letters stay in the topic until its retention removes them, but they are no
          longer listed or replayed. `penstock dead list --all` still shows them.
        TEXT

        private

        def define(parser)
          define_change(parser, "all letters of the topic")
        end

        def call(words)
          session = session(words.first)
          letters = chosen(session)
          return print_letters(letters) if options[:dry_run] || letters.empty?
          return ExitCodes::FAILED unless agreed?("Remove #{letters.size} dead letters from the list?")

          session.drop(letters)
          options[:json] ? print_letters(letters) : say("dropped #{letters.size} dead letters")
        end
      end
    end
  end
end
