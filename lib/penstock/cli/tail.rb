# frozen_string_literal: true

require_relative "../clock"
require_relative "../instrumentation/connection_diagnosis"
require_relative "../on_demand"
require_relative "../printable"
require_relative "../reading/positions"
require_relative "../reading/ranges"
require_relative "../serialization/deserializers"
require_relative "exit_codes"
require_relative "record_fields"
Penstock.load_constant :Messages

module Penstock
  module CLI
    # Prints the records of a topic as they arrive, until it is stopped. It joins no group and commits nothing. Errors of the
    # connection are lines on the error stream; reading continues when brokers are back. Belongs to the thread of {#run}.
    class Tail
      # Longest wait for records at once.
      WAIT_MS = 200
      private_constant :WAIT_MS

      # @param topic [String]
      # @param connection [Reading::Connection]
      # @param out [#puts] for messages
      # @param err [#puts] for errors
      # @param from [:earliest, :latest]
      # @param limit [Integer, nil] ends after this number of messages
      # @param json [Boolean]
      def initialize(topic:, connection:, out:, err: $stderr, from: :latest, limit: nil, json: false)
        @topic = topic
        @connection = connection
        @out = out
        @err = err
        @from = from
        @left = limit
        @json = json
        @reported = nil
      end

      # Prints until the number of messages is reached, or a signal (INT, TERM) arrives.
      #
      # @return [Integer] exit code
      # @raise [KafkaError] the topic doesn't exist or can't be read
      # @raise [Errno::EPIPE] nobody reads the output any more
      def run
        ranges = Reading::Ranges.new(@connection, parts)
        until @left&.zero?
          arrived = ranges.turn(WAIT_MS) { |_part, batch, first, count| print(messages(batch, first, count)) }
          arrived ? @reported = nil : nothing_arrived(ranges)
        end
        ExitCodes::OK
      rescue SignalException => signal
        raise unless %w[SIGINT SIGTERM].include?(signal.signm) || signal.is_a?(Interrupt)

        ExitCodes::OK
      end

      # @param messages [Enumerable<Message>]
      # @return [void]
      def print(messages)
        messages.each do |message|
          break if @left&.zero?

          @out.puts(@json ? Printable.json(to_h(message)) : line(message))
          @left -= 1 if @left
        end
        @out.flush
      end

      private

      # @return [Array<Reading::Part>]
      def parts
        wanted = @connection.partitions([@topic]).fetch(@topic)
          .map { |partition| Reading::Positions::Wanted.new(@topic, partition, @from) }
        Reading::Positions.new(@connection, follow: true).parts(wanted)
      end

      def messages(batch, first, count)
        batch.context = Messages::Context.new(Serialization::Deserializers::DEFAULT, Clock::SYSTEM.wall_ms)
        batch.to_enum(:each_view, Message, nil, first, count)
      end

      # The client repeats its errors as long as brokers are away: each text is one line.
      def nothing_arrived(ranges)
        ranges.expect_progress
        error = @connection.last_error or return
        text = (Instrumentation::ConnectionDiagnosis.of(error) || error.message).to_s
        @err.puts("penstock: #{Printable.line(text)}") unless text == @reported
        @reported = text
      end

      def line(message)
        place = "#{message.partition}@#{message.offset}"
        key = message.raw_key ? " #{Printable.line(message.raw_key, nil)}:" : ""
        "#{place}#{key} #{message.raw_payload.nil? ? "(no payload)" : Printable.line(message.raw_payload, nil)}"
      end

      def to_h(message)
        {topic: message.topic, partition: message.partition, offset: message.offset, timestamp: message.timestamp.to_s,
         **RecordFields.of(message)}
      end
    end
  end
end
