# frozen_string_literal: true

require "json"
require "socket"
require_relative "../errors"
require_relative "../native/kafka_error"
require_relative "../printable"
require_relative "../server/socket_server"

module Penstock
  module Testing
    # The control socket of an embedded broker: each connection sends one request, a JSON object in a line, and gets one
    # line as answer (see {Native::EmbeddedControlClient}). One thread, that of {#serve}, serves all of them and runs the
    # commands one after another, which is enough for a test broker. It ends when one of the watched streams becomes
    # readable or a command requests it; nothing that clients do ends it ({Server::SocketServer}).
    class ControlServer
      # More than any request has; a connection that sends more isn't from a client of this socket.
      MAX_LINE_BYTES = 1_048_576
      # A command may query the cluster, which takes seconds if a broker is down, and other connections wait for it.
      CLIENT_S = 30
      # Maximum number of connections: their requests may be long.
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

      # Serves until one of the streams becomes readable (or ends), or the commands are finished.
      # @param watched [Array<IO>]
      def serve(watched) = @server.run(watched)

      def close = @server.close

      private

      def reply(text)
        line(answer(text)).tap { @server.close if @commands.finished? }
      end

      # The answer may contain the client's text, which has to be made valid first.
      def line(answer) = "#{Printable.json(answer)}\n"

      # Any error of a command becomes an answer: an invalid request must not end the broker.
      def answer(text)
        request = JSON.parse(Printable.utf8(text))
        return invalid("a request needs a command") unless request.is_a?(Hash) && request["command"].is_a?(String)

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
