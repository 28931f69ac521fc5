# frozen_string_literal: true

require_relative "../command"
require_relative "../target"

module Penstock
  module CLI
    module Commands
      # Prints the messages that arrive in a topic. It reads without a group: it takes no partitions from anybody and leaves no
      # offsets.
      class Tail < Command
        command "tail", "Prints the messages of a topic as they arrive", usage: "TOPIC [options]", arguments: 1..1

        details <<~TEXT
          Reads all partitions that the topic has when it begins, without a group, until Ctrl-C. It needs the right to read the topic.

          Characters that would control the terminal are shown as escapes, bytes that aren't UTF-8 as \\xFF. With --json each
          message is one line with its text unchanged; text that isn't UTF-8 is base64, in payload_base64, key_base64 and
          headers_base64.
        TEXT

        private

        def define(parser)
          Target.define_with_timeout(parser)
          parser.flag(:from_beginning, "--from-beginning", "from the first message there is (default: only new ones)")
          parser.number(:count, "-n", "--count N", "end after N messages")
          parser.flag(:json, "--json", "one line of JSON per message")
        end

        def call(words)
          connection = Target.new(context, options).reader(options.fetch(:timeout, Target::LIMIT_S) * 1_000, follow: true)
          require_relative "../tail"

          CLI::Tail.new(topic: words.first, connection: connection, out: context.stdout, err: context.stderr,
            limit: options[:count], from: options[:from_beginning] ? :earliest : :latest, json: options[:json]).run
        ensure
          connection&.close
        end
      end
    end
  end
end
