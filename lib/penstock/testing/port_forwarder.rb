# frozen_string_literal: true

require "socket"
require_relative "../errors"

module Penstock
  module Testing
    # Makes an embedded broker reachable at a port of the user's choice: the mock cluster takes whatever port is free.
    # Only a client's first contact comes this way; the answer to it names the broker's own port, so records never do.
    # Two threads a connection copy bytes, one each way, until a side closes; {#close} ends them all.
    class PortForwarder
      # @param port [Integer] to listen at, on 127.0.0.1
      # @param target [String] `host:port` of the broker
      # @raise [ConfigurationError] when the port is taken
      def initialize(port, target)
        @server = TCPServer.new("127.0.0.1", port)
        @host, @port = target.split(":")
        @sockets = []
        @threads = ThreadGroup.new
        start { accept }
      rescue Errno::EADDRINUSE, Errno::EACCES => error
        raise ConfigurationError, "port #{port} can't be used: #{error.message}. Choose another one with --port"
      end

      # A shutdown ends what waits for a socket; closing it under a copy would not.
      def close
        @server.close
        @sockets.each { |socket| shut(socket) }
        @threads.list.each(&:join)
      end

      private

      def start(&block)
        thread = Thread.new(&block)
        thread.name = "penstock forwarder"
        thread.report_on_exception = false # a connection that breaks is no news
        @threads.add(thread)
      end

      def accept
        loop { forward(@server.accept) }
      rescue IOError, Errno::EBADF
        nil # closed
      end

      def forward(client)
        broker = TCPSocket.new(@host, @port)
        @sockets.reject!(&:closed?)
        @sockets.push(client, broker)
        start { copy(client, broker) }
        start { copy(broker, client) }
      rescue SystemCallError
        client.close
      end

      def copy(from, to)
        IO.copy_stream(from, to)
      rescue IOError, SystemCallError
        nil # the other direction ended first
      ensure
        shut(to)
        from.close
      end

      def shut(socket)
        socket.shutdown(Socket::SHUT_RDWR)
      rescue IOError, SystemCallError
        nil # it is shut already
      end
    end
  end
end
