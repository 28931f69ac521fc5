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

            penstock produce orders '{"id": 1}' --key 42
            cat orders.jsonl | penstock produce orders
        TEXT

        BATCH = 500
        # Someone who types a command doesn't want to wait five minutes for an unreachable broker; -X
        # message.timeout.ms=… changes this.
        PATIENCE = {"message.timeout.ms": Target::LIMIT_S * 1_000}.freeze

        private

        def define(parser)
          Target.define(parser)
          parser.value(:key, "-k", "--key KEY", "key of the message")
          parser.pairs(:headers, "-H", "--header NAME=VALUE", "a header; may be repeated")
          parser.value(:partition, "--partition N", Integer, "partition (default: by key)")
          parser.flag(:tombstone, "--tombstone", "a message without payload, which deletes its key on compaction")
          parser.flag(:json, "--json", "print where each message was stored as JSON, one line per message")
        end

        def call(words)
          topic, payload = words
          @producer = open_producer(Target.new(context, options))
          (payload || options[:tombstone]) ? send_all(topic, [payload]) : send_lines(topic)
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

        def send_lines(topic)
          context.stdin.each_line(chomp: true).each_slice(BATCH) { |payloads| send_all(topic, payloads) }
        end

        def send_all(topic, payloads)
          reports = @producer.produce_many_sync(payloads.map { |payload| message(topic, payload) })
          reports.each { |handle| print_delivery(topic, handle.respond_to?(:report) ? handle.report : handle) }
        end

        def message(topic, payload)
          {
            topic: topic, payload: options[:tombstone] ? nil : payload, key: options[:key],
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
