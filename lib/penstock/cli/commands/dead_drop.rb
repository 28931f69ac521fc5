# frozen_string_literal: true

require_relative "../dead/command"

module Penstock
  module CLI
    module Commands
      # Takes dead letters off the list.
      class DeadDrop < Dead::Command
        command "dead drop", "Takes dead letters off the list", usage: "TOPIC [options]", arguments: 1..1
        details <<~TEXT
          Kafka has no way to delete one message: they stay in the topic until its retention takes them, but they are neither
          listed nor replayed any more. `penstock dead list --all` still shows them.
        TEXT

        private

        def define(parser)
          define_change(parser, "all letters of the topic")
        end

        def call(words)
          session = session(words.first)
          letters = chosen(session)
          return print_letters(letters) if options[:dry_run] || letters.empty?
          return ExitCodes::FAILED unless agreed?("Take #{letters.size} dead letters off the list?")

          session.drop(letters)
          options[:json] ? print_letters(letters) : say("dropped #{letters.size} dead letters")
        end
      end
    end
  end
end
