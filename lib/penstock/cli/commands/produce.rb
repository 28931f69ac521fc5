# frozen_string_literal: true

require_relative "../command"
require_relative "../target"

module Penstock
  module CLI
    module Commands
      # Sends one message, or one for each line of the standard input, and prints where each was stored.
      class Produce < Command
        command "produce", "Sends messages from the arguments or the standard input",
          usage: "TOPIC [PAYLOAD] [options]", arguments: 1..2
        details <<~TEXT
          Without PAYLOAD each line of the standard input is a message. The command waits for the delivery of every message.
          Lines are sent 500 at a time. If a line can't be sent, none of its 500 is, and the error names the lines that were
          produced.

            penstock produce orders '{"id": 1}' --key 42
            cat orders.jsonl | penstock produce orders
            printf '42:{"id": 1}\n43:{"id": 2}\n' | penstock produce orders --key-separator :
        TEXT

        BATCH = 500
        # Someone who types a command doesn't want to wait five minutes for an unreachable broker; -X
        # message.timeout.ms=… changes this.
        PATIENCE = {"message.timeout.ms": Target::LIMIT_S * 1_000}.freeze

        private

        def define(parser)
          Target.define(parser)
          parser.value(:key, "-k", "--key KEY", "key of the message")
          parser.value(:key_separator, "-K", "--key-separator TEXT",
            "each line is KEY, this text (\\t: a tab), PAYLOAD; the key ends at the first one")
          parser.pairs(:headers, "-H", "--header NAME=VALUE", "a header; may be repeated")
          parser.number(:partition, "--partition N", "partition (default: by key)", from: 0)
          parser.flag(:tombstone, "--tombstone", "a message without payload, which deletes its key on compaction")
          parser.flag(:json, "--json", "print where each message was stored as JSON, one line per message")
        end

        def call(words)
          topic, payload = words
          check_key_separator(payload) if options[:key_separator]
          @producer = open_producer(Target.new(context, options))
          (payload || options[:tombstone]) ? send_all([message(topic, payload)]) : send_lines(topic)
        rescue SignalException
          @producer&.close!(timeout_ms: 0) # after an interrupt, don't wait for messages that may still be in flight
          raise
        ensure
          @producer&.close
        end

        def open_producer(target)
          kafka = target.kafka
          require_relative "../../framework"

          Penstock::Producer.new do |config|
            config.kafka = PATIENCE.merge(kafka)
            config.oauth.token_provider_listener = target.token_provider || false
          end
        end

        def check_key_separator(payload)
          fail_usage "--key-separator is empty. Give the text between key and payload" if options[:key_separator].empty?
          other = ("--key" if options[:key]) || ("--tombstone" if options[:tombstone]) || ("PAYLOAD" if payload)
          return unless other

          fail_usage "--key-separator is for lines of the standard input, each with its own key: it can't be combined with " \
            "#{other}"
        end

        def send_lines(topic)
          @sent = 0
          warn_user "reading messages from the standard input, one per line: Ctrl-D sends them" if context.stdin.tty?
          context.stdin.each_line(chomp: true).each_slice(BATCH) do |lines|
            send_all(lines.each_with_index.map { |line, index| line_message(topic, line, @sent + index + 1) })
            @sent += lines.size
          end
        rescue MessageInvalidError
          warn_user produced_lines
          raise
        rescue ProduceManyError => error
          print_partial(topic, error.dispatched.map(&:report))
          raise
        end

        def line_message(topic, line, number)
          return message(topic, line) unless options[:key_separator]

          key, found, payload = line.b.partition(options[:key_separator].gsub("\\t", "\t").b)
          if found.empty?
            fail_usage "line #{number} of the standard input doesn't contain the key separator " \
              "#{options[:key_separator].inspect}. #{produced_lines}"
          end
          message(topic, payload.force_encoding(line.encoding), key.force_encoding(line.encoding))
        end

        def produced_lines
          @sent.zero? ? "Nothing was produced" : "Lines 1 to #{@sent} were produced, and none after them"
        end

        # Some lines of a batch failed: those before it and those printed here are stored.
        def print_partial(topic, reports)
          delivered, others = reports.compact.partition(&:delivered?)
          delivered.each { |report| print_delivery(topic, report) }
          unknown = others.count(&:unknown?) + reports.count(nil)
          warn_user "#{"Lines 1 to #{@sent} were produced. " if @sent.positive?}Of the lines from #{@sent + 1} on, " \
            "#{delivered.size} #{(delivered.size == 1) ? "was" : "were"} produced" \
            "#{", and it isn't known whether #{unknown} more were" if unknown.positive?}"
        end

        def send_all(messages)
          reports = @producer.produce_many_sync(messages)
          reports.each { |handle| print_delivery(messages.first[:topic], handle.respond_to?(:report) ? handle.report : handle) }
        end

        def message(topic, payload, key = options[:key])
          {
            topic: topic, payload: options[:tombstone] ? nil : payload, key: key,
            partition: options[:partition], headers: options[:headers]
          }.compact
        end

        def print_delivery(topic, report)
          return say("#{topic}/#{report.partition} at offset #{report.offset}") unless options[:json]

          context.stdout.puts(Printable.json({topic: topic, partition: report.partition, offset: report.offset}))
        end
      end
    end
  end
end
