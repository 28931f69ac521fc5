# frozen_string_literal: true

require_relative "../dead/command"

module Penstock
  module CLI
    module Commands
      # Sends dead letters back to where they came from.
      class DeadReplay < Dead::Command
        command "dead replay", "Sends dead letters back to the topics they came from", usage: "TOPIC [options]",
          arguments: 1..1
        details <<~TEXT
          Payload, key, time stamp and the headers they had are those of the first day; the header penstock_replays counts how
          often a message was sent back. What was sent isn't listed any more. Every consumer group of the topic gets it.

          What was left out of a letter that was too large is read again where it came from. Where that is gone the letter is
          named and stays on the list, the others are sent, and the command fails.

            penstock dead replay orders.dead --error Timeout::Error --dry-run
        TEXT

        private

        def define(parser)
          define_change(parser, "all letters of the topic")
          parser.value(:to, "--to TOPIC", "send them there instead")
        end

        def call(words)
          session = session(words.first)
          letters = chosen(session)
          lost = letters.reject { |letter| letter.source || options[:to] }
          return no_way_back(lost) if lost.any?
          return print_letters(letters) if options[:dry_run] || letters.empty?
          return ExitCodes::FAILED unless agreed?("Send #{letters.size} messages to #{destinations(letters)}?")

          refused = session.replay(letters, options[:to])
          sent = letters - refused.keys
          options[:json] ? print_letters(sent) : say("replayed #{sent.size} messages to #{destinations(letters)}")
          not_whole(refused) if refused.any?
        end

        def destinations(letters) = options[:to] || letters.map { |letter| letter.source.topic }.uniq.join(", ")

        def not_whole(refused)
          refused.each do |letter, reason|
            omitted = letter.omitted.join(" and its ")
            warn_user printable("#{letter.record.uid} wasn't replayed: its #{omitted} was left out, and #{reason}")
          end
          ExitCodes::FAILED
        end

        def no_way_back(letters)
          warn_user "#{letters.size} of the messages don't say where they came from, the first is #{letters.first.record.uid}: " \
            "name a topic with --to, or leave them out with --topic"
          ExitCodes::FAILED
        end
      end
    end
  end
end
