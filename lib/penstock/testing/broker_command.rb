# frozen_string_literal: true

require_relative "../cli/command"
require_relative "client_settings"

module Penstock
  module Testing
    # `penstock broker`: the embedded broker in the foreground, for development and for tests of other programs.
    # `exe/penstock` adds this command to those of the command line.
    class BrokerCommand < CLI::Command
      command "broker", "Runs the embedded broker: Kafka in memory, for development"
      details <<~TEXT
        Speaks Kafka's protocol on 127.0.0.1 and writes nothing to disk. Keeps 5 MiB or 100,000 batches per partition, loses
        everything when it ends, and supports no ACLs, no SASL and no TLS. Missing topics are created on first use,
        always with 4 partitions. Clients should set fetch.wait.max.ms to #{ClientSettings::FETCH_WAIT_MAX_MS} and session.timeout.ms
        to #{ClientSettings::SESSION_TIMEOUT_MS}: so long the broker waits for a dead or silent member.

          penstock broker --topics orders:6,clicks:3
          penstock broker --topics orders,clicks --partitions 12
      TEXT

      DEFAULT_PORT = 9092
      DEFAULT_PARTITIONS = 4

      private

      def define(parser)
        parser.number(:port, "--port N", "port on 127.0.0.1 (9092); 0: a free one", from: 0, to: 65_535)
        parser.list(:topics, "--topics NAME[:PARTITIONS],…", "topics to create at the start")
        parser.number(:partitions, "--partitions N", "partitions of topics that --topics names without a number (4)")
        parser.flag(:json, "--json", "print one line of JSON with the address instead of the banner")
        parser.flag(:stop_with_stdin, "--stop-with-stdin", "end when the standard input is closed")
      end

      def call(_words)
        made = topics
        require_relative "broker_process"

        BrokerProcess.run(
          port: options.fetch(:port, DEFAULT_PORT), topics: made, partitions: partitions, out: context.stdout,
          watch: (context.stdin if options[:stop_with_stdin]), format: options[:json] ? :json : :text
        )
      end

      def topics
        options.fetch(:topics, []).to_h do |text|
          name, count = text.split(":", 2)
          number = count ? Integer(count, exception: false) : partitions
          check_name(name)
          fail_usage "--topics #{text}: the number of partitions begins at 1" unless number&.positive?
          [name, number]
        end
      end

      def check_name(name)
        require_relative "../config/types" # not needed for --help
        type = Config::Types::Name.new
        fail_usage "--topics: #{name.inspect} isn't #{type}" if Config::Types.invalid?(type.coerce(name))
      end

      def partitions
        options.fetch(:partitions, DEFAULT_PARTITIONS)
      end
    end
  end
end
