# frozen_string_literal: true

require_relative "../../on_demand"
require_relative "../dead/command"

module Penstock
  module CLI
    module Commands
      # Sends dead letters back to the topics they came from.
      class DeadReplay < Dead::Command
        command "dead replay", "Sends dead letters back to the topics they came from", usage: "TOPIC [options]",
          arguments: 1..1
        details <<~TEXT
          Payload, key and original headers are those of the original message; the header penstock_replays counts the replays of a
          message. Its timestamp is the time of the replay, so that it doesn't expire; the original one is in the header
          penstock_original_timestamp, in ms since 1970. Replayed letters are no longer listed. Every consumer group of the topic
          receives the message.

          If a letter was too large, its omitted part is read again from the source partition. A letter that
          can't be sent is listed with the reason and stays on the list; the others are sent, and the exit code is 1.

            penstock dead replay orders.dead --error Timeout::Error --dry-run
        TEXT

        # Limits: letters that are listed one by one, and topics that are named in one line.
        LISTED = 100
        NAMED = 10
        private_constant :LISTED, :NAMED

        private

        def define(parser)
          define_change(parser, "all letters of the topic")
          parser.value(:to, "--to TOPIC", "send them to this topic instead")
          parser.flag(:keep_timestamp, "--keep-timestamp", "send them with their original timestamps")
        end

        def call(words)
          fail_usage "--to #{Printable.inspect(options[:to])} is not a valid topic name" unless topic?(options[:to])

          session = session(words.first)
          letters = chosen(session)
          refused = letters.to_h { |letter| [letter, session.objection(letter, options[:to])] }.compact
          ready = letters - refused.keys
          return announce(ready, refused) if options[:dry_run] || ready.empty?
          return ExitCodes::FAILED unless agreed?(question(ready, refused))

          report(letters, refused, session.replay(ready, options[:to]))
        end

        def topic?(name)
          name.nil? || Producer::MessageRules.topic?(name)
        end

        # Prints the letters that would be sent, and those that wouldn't.
        def announce(ready, refused)
          print_letters(ready) if options[:json] || ready.any? || refused.empty?
          complain(refused)
        end

        def question(ready, refused)
          "Send #{ready.size} messages to #{destinations(ready)}?#{" #{refused.size} can't be sent." if refused.any?}"
        end

        def report(letters, refused, found)
          options[:json] ? print_letters(found.sent) : say(summary(found.sent))
          refused = {**refused, **found.refused}
          code = complain(refused)
          return code unless found.stopped

          stopped(found, letters.size - found.sent.size - refused.size)
          ExitCodes::FAILED
        end

        def stopped(found, left)
          error = Printable.message(found.stopped)
          warn_user unrecorded(found, error) if found.unrecorded.any?
          warn_user "stopped, because #{stop_reason(found)} (#{error}): #{left} more weren't tried" if left.positive?
        end

        def stop_reason(found)
          found.away? ? "the cluster can't be reached" : "it couldn't be recorded what was replayed"
        end

        def unrecorded(found, error)
          places = found.unrecorded.map { |partition, offsets|
            "#{offsets.size} of partition #{partition}, offsets #{offsets.min} to #{offsets.max}"
          }
          "of the #{found.sent.size} replayed messages, some may not be recorded as replayed (#{error}): #{places.join("; ")}. " \
            "They are still listed, and another replay sends them again: drop them first (--partition and --offset)"
        end

        def summary(sent) = "replayed #{sent.size} messages#{" to #{destinations(sent)}" if sent.any?}"

        # @param refused [Hash{Letter => String}]
        # @return [Integer] exit code
        def complain(refused)
          return ExitCodes::OK if refused.empty?

          refused.first(LISTED).each do |letter, reason|
            warn_user Printable.line("#{letter.record.uid} wasn't replayed: #{reason}")
          end
          rest = refused.size - LISTED
          warn_user "… and #{rest} more" if rest.positive?
          warn_user "#{refused.size} #{(refused.size == 1) ? "letter stays" : "letters stay"} on the list"
          ExitCodes::FAILED
        end

        def destinations(letters)
          names = options[:to] ? [options[:to]] : letters.map { |letter| letter.source.topic }.uniq
          more = names.size - NAMED
          "#{names.first(NAMED).map { |name| Printable.line(name) }.join(", ")}#{" and #{more} more" if more.positive?}"
        end
      end
    end
  end
end
