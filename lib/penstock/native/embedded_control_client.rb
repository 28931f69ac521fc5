# frozen_string_literal: true

require "json"
require "socket"
require_relative "../errors"
require_relative "../deadline"
require_relative "kafka_error"

module Penstock
  module Native
    # Sends commands to an embedded broker's control socket ({Testing::ControlServer}, {Testing::ControlCommands}). The broker
    # itself, librdkafka's mock cluster, doesn't answer administration requests, so it listens for them on a socket of its own,
    # and publishes that port in the field in which brokers name their rack.
    #
    # The rack, because every answer about the cluster contains it: no file that a killed process leaves around, no port that
    # must be free at a fixed distance, nothing to configure, and it works from any process that reaches the broker. Nothing
    # else reads it: a client ignores racks unless `client.rack` is set.
    #
    # The protocol is one JSON object per line, answered by one: `{"command": "create", "topic": "orders", "partitions": 6}` by
    # `{"result": …}` or `{"error": {"number": 36, "message": "…"}}`. A connection serves one request.
    class EmbeddedControlClient
      RACK = "penstock-control="
      private_constant :RACK

      class << self
        # @param port [Integer] of the control socket
        # @return [String] the rack that the broker reports
        def rack(port)
          "#{RACK}#{port}"
        end

        # @param native [Native::Admin] of the cluster in question
        # @return [EmbeddedControlClient, nil] nil when the cluster is a real one
        def of(native, timeout_ms)
          _, nodes = native.describe_cluster(timeout_ms)
          _, host, _, rack = nodes.find { |*, name| name&.start_with?(RACK) }
          new(host, Integer(rack.delete_prefix(RACK))) if rack
        end
      end

      # @param host [String]
      # @param port [Integer] of the control socket
      def initialize(host, port)
        @host = host
        @port = port
      end

      # @param command [Symbol, String]
      # @param arguments [Hash] of the command
      # @return [Object] its result, as JSON represents it
      # @raise [KafkaError] the broker's error
      # @raise [WaitTimeoutError] the broker didn't answer in time
      def request(command, timeout_ms: 5_000, **arguments)
        deadline = Deadline.in(timeout_ms)
        Socket.tcp(@host, @port, connect_timeout: [timeout_ms / 1000.0, 0.001].max) do |socket|
          socket.write("#{JSON.generate(arguments.merge(command: command))}\n")
          result_of(read_line(socket, deadline))
        end
      rescue SystemCallError => error
        raise Native.error_for(Native.error_number(:transport), "embedded broker, control port #{@port}: #{error.message}")
      end

      private

      def read_line(socket, deadline)
        buffer = String.new(encoding: Encoding::BINARY) # a chunk may end inside a character
        until buffer.end_with?("\n")
          socket.wait_readable(deadline.remaining_ms / 1000.0) or raise WaitTimeoutError, "no answer from the embedded broker"
          buffer << socket.readpartial(65_536)
        end
        buffer.force_encoding(Encoding::UTF_8)
      rescue EOFError
        raise Native.error_for(Native.error_number(:transport), "the embedded broker closed its control socket")
      end

      def result_of(line)
        answer = JSON.parse(line)
        error = answer["error"] or return answer["result"]
        raise Native.kafka_error(error["number"], error["name"], error["message"], 0)
      end
    end
  end
end
