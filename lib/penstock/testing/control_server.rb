# frozen_string_literal: true

require "json"
require "socket"
require_relative "../errors"
require_relative "../native/kafka_error"
require_relative "../printable"
require_relative "../server/socket_server"

module Penstock
  module Testing
    # The control socket of an embedded broker: takes one request from each connection, a JSON object in a line, and answers it
    # with a line (see {Native::EmbeddedBroker}). One thread serves all of them, that of {#serve}; commands run on it one after
    # another, which is all a test broker needs. It ends when one of the watched streams has something to say or a command asks
    # for it, and for nothing that clients do ({Server::SocketServer}).
    class ControlServer
      # More than any request has; a connection that sends more is somebody else's.
      MAX_LINE_BYTES = 1_048_576
      # A command may ask the cluster, which takes seconds where a broker is down, and others wait for it.
      CLIENT_S = 30
      # Connections at once: their requests may be long.
      MOST = 64
      private_constant :MAX_LINE_BYTES, :CLIENT_S, :MOST

      # @param commands [#call, #finished?] `call(command, arguments)` → result; raises {KafkaError} or ArgumentError
      # @param port [Integer] 0 for a free one
      def initialize(commands, port: 0)
        @commands = commands
        server = TCPServer.new("127.0.0.1", port)
        @port = server.local_address.ip_port
        rules = {ending: /\n/, longest: MAX_LINE_BYTES, too_long: line(invalid("a request has at most #{MAX_LINE_BYTES} bytes"))}
        @server = Server::SocketServer.new(server, **rules, client_s: CLIENT_S, most: MOST) { |text| reply(text) }
      end

      # @return [Integer]
      attr_reader :port

      # Serves until one of the streams becomes readable (or ends), or the commands say that they are done.
      # @param watched [Array<IO>]
      def serve(watched) = @server.run(watched)

      def close = @server.close

      private

      def reply(text)
        line(answer(text)).tap { @server.close if @commands.finished? }
      end

      # What a client sent may be in the answer, so it has to be made valid first.
      def line(answer) = "#{Printable.json(answer)}\n"

      # Whatever a command raises becomes an answer: a bad request must not end the broker.
      def answer(text)
        request = JSON.parse(Printable.utf8(text))
        return invalid("a request is an object with a command") unless request.is_a?(Hash) && request["command"].is_a?(String)

        {result: @commands.call(request["command"], request)}
      rescue KafkaError => error
        {error: {number: error.number, name: error.code, message: error.broker_message}}
      rescue StandardError, SystemStackError => error
        invalid(Printable.message(error))
      end

      def invalid(message)
        {error: {number: Native.error_number(:invalid_arg), name: "_INVALID_ARG", message: message}}
      end
    end
  end
end
