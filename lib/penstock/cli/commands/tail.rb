# frozen_string_literal: true

require_relative "../command"
require_relative "../target"

module Penstock
  module CLI
    module Commands
      # Prints the messages that arrive in a topic. It runs a small Penstock application of its own, in a group without
      # other members that never commits: it takes no partitions from anybody and leaves no offsets.
      class Tail < Command
        command "tail", "Prints the messages of a topic as they arrive", usage: "TOPIC [options]", arguments: 1..1

        details <<~TEXT
          Characters that would control the terminal are shown as escapes, bytes that aren't UTF-8 as \\xFF. With --json each
          message is one line with its text unchanged; text that isn't UTF-8 is base64, in payload_base64, key_base64 and
          headers_base64.
        TEXT

        private

        def define(parser)
          Target.define(parser)
          parser.flag(:from_beginning, "--from-beginning", "from the first message there is (default: only new ones)")
          parser.number(:count, "-n", "--count N", "end after N messages")
          parser.flag(:json, "--json", "one line of JSON per message")
        end

        def call(words)
          target = Target.new(context, options)
          kafka = target.kafka
          require_relative "../../framework"
          require_relative "../tail"

          CLI::Tail.new(
            topic: words.first, kafka: kafka, out: context.stdout, err: context.stderr, limit: options[:count],
            from: options[:from_beginning] ? "earliest" : "latest", json: options[:json],
            token_provider: target.token_provider
          ).run
        end
      end
    end
  end
end
