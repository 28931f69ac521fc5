# frozen_string_literal: true

require_relative "../command"
require_relative "../target"

module Penstock
  module CLI
    module Commands
      # Prints what arrives in a topic. It is a small Penstock application of its own, in a group that nobody else is in
      # and that never commits, so it takes nothing away from anybody and leaves nothing behind.
      class Tail < Command
        command "tail", "Prints the messages of a topic as they arrive", usage: "TOPIC [options]", arguments: 1..1

        details <<~TEXT
          Characters that would drive the terminal are shown as escapes, bytes that aren't UTF-8 as \\xFF. With --json each message
          is one line, with its text as it is; what isn't UTF-8 is in base64, in payload_base64, key_base64 and headers_base64.
        TEXT

        private

        def define(parser)
          Target.define(parser)
          parser.flag(:from_beginning, "--from-beginning", "from the first message there is (default: only new ones)")
          parser.value(:count, "-n", "--count N", Integer, "end after so many")
          parser.flag(:json, "--json", "one line of JSON a message")
        end

        def call(words)
          target = Target.new(context, options)
          kafka = target.kafka
          require_relative "../../../penstock"
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
