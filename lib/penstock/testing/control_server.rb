# frozen_string_literal: true

require "json"
require "socket"
require_relative "../errors"
require_relative "../native/kafka_error"

module Penstock
  module Testing
    # The control socket of an embedded broker: takes requests, one JSON object a line, from any number of connections and
    # answers each with a line (see {Native::EmbeddedBroker}). One thread serves all of them, that of {#serve}; commands run
    # on it one after the other, which is all a test broker needs. It ends when one of the watched streams has something
    # to say or a command asks for it.
    class ControlServer
      # More than any request has; a connection that sends more is somebody else's.
      MAX_LINE_BYTES = 1_048_576
      private_constant :MAX_LINE_BYTES

      # @param commands [#call] `call(command, arguments)` → result; raises {KafkaError} or ArgumentError
      # @param port [Integer] 0 for a free one
      def initialize(commands, port: 0)
        @commands = commands
        @server = TCPServer.new("127.0.0.1", port)
        @clients = {}
      end

      # @return [Integer]
      def port
        @server.addr[1]
      end

      # Serves until one of the streams becomes readable (or ends), or the commands say that they are done.
      # @param watched [Array<IO>]
      def serve(watched)
        until @commands.finished?
          readable, = IO.select([@server, *@clients.keys, *watched])
          return if watched.any? { |stream| readable.include?(stream) }

          readable.each { |socket| (socket == @server) ? accept : read(socket) }
        end
      end

      def close
        [@server, *@clients.keys].each(&:close)
      end

      private

      def accept
        @clients[@server.accept_nonblock] = "".b
      rescue IO::WaitReadable, Errno::ECONNABORTED
        nil # the other side has gone again
      end

      def read(socket)
        buffer = @clients.fetch(socket) << socket.read_nonblock(65_536)
        return drop(socket) if buffer.bytesize > MAX_LINE_BYTES

        while (line = buffer.slice!(/\A[^\n]*\n/))
          socket.write("#{JSON.generate(answer(line))}\n")
        end
      rescue IO::WaitReadable
        nil
      rescue EOFError, SystemCallError
        drop(socket)
      end

      def drop(socket)
        @clients.delete(socket)
        socket.close
      end

      # Whatever a command raises becomes an answer: a bad request must not end the broker.
      def answer(line)
        request = JSON.parse(line.force_encoding(Encoding::UTF_8).scrub)
        raise ArgumentError, "a request is an object with a command" unless request.is_a?(Hash) && request["command"]

        {result: @commands.call(request["command"], request)}
      rescue KafkaError => error
        {error: {number: error.number, name: error.code, message: error.broker_message}}
      rescue ArgumentError, TypeError, KeyError, RangeError, JSON::ParserError => error
        {error: {number: Native.error_number(:invalid_arg), name: "_INVALID_ARG", message: error.message}}
      end
    end
  end
end
