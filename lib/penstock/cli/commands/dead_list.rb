# frozen_string_literal: true

require_relative "../dead/command"

module Penstock
  module CLI
    module Commands
      # What lies in a dead letter topic, and why.
      class DeadList < Dead::Command
        command "dead list", "Lists dead letters", usage: "TOPIC [options]", arguments: 1..1
        details <<~TEXT
          Those that were replayed or dropped are left out, unless --all is said.

            penstock dead list orders.dead --error Timeout::Error --since 2h
        TEXT

        MOST = 100

        private

        def define(parser)
          define_target(parser)
          parser.flag(:all, "--all", "also those that were replayed or dropped")
          parser.value(:limit, "-n", "--limit N", Integer, "at most so many (#{MOST})")
        end

        def call(words)
          limit = options.fetch(:limit, MOST)
          letters = session(words.first).enum_for(:each).first(limit + 1)
          print_letters(letters.first(limit))
          warn_user "there are more: --limit N shows them" if letters.size > limit
        end
      end
    end
  end
end
