# frozen_string_literal: true

require_relative "../dead/command"

module Penstock
  module CLI
    module Commands
      # Lists the letters of a dead letter topic with the reason for each.
      class DeadList < Dead::Command
        command "dead list", "Lists dead letters", usage: "TOPIC [options]", arguments: 1..1
        details <<~TEXT
          Letters that were replayed or dropped are not listed, except with --all.

            penstock dead list orders.dead --error Timeout::Error --since 2h
        TEXT

        MOST = 100

        private

        def define(parser)
          define_target(parser)
          parser.flag(:all, "--all", "also letters that were replayed or dropped")
          parser.number(:limit, "-n", "--limit N", "list at most N letters (#{MOST})")
        end

        def call(words)
          limit = options.fetch(:limit, MOST)
          letters = session(words.first).enum_for(:each).first(limit + 1)
          print_letters(letters.first(limit))
          warn_user no_letters(words.first) if letters.any? && letters.none?(&:source)
          warn_user "there are more: --limit N shows them" if letters.size > limit
        end

        def no_letters(topic)
          "none of these records has the header source_topic: #{topic} may be no dead letter topic"
        end
      end
    end
  end
end
