# frozen_string_literal: true

require "socket"
require_relative "../errors"

module Penstock
  module Testing
    # Makes an embedded broker reachable at a port of the user's choice: the mock cluster takes whatever port is free.
    # Only a client's first contact comes this way; the answer to it names the broker's own port, so records never do.
    # Two threads a connection copy bytes, one each way, until a side closes; {#close} ends them all.
    class PortForwarder
      # Without a descriptor or a thread to spare a connection isn't taken; the next try comes after this.
      RETRY_S = 0.1
      private_constant :RETRY_S

      # @return [Integer] at which it listens
      attr_reader :port

      # @param port [Integer] to listen at, on 127.0.0.1
      # @param target [String] `host:port` of the broker
      # @raise [ConfigurationError] when the port is taken
      def initialize(port, target)
        @server = TCPServer.new("127.0.0.1", port)
        @port = port
        @target = target.split(":")
        @lock = Mutex.new
        @sockets = []
        @threads = ThreadGroup.new
        @accepting = start { accept }
      rescue Errno::EADDRINUSE, Errno::EACCES => error
        raise ConfigurationError, "port #{port} can't be used: #{error.message}. Choose another one with --port"
      end

      # No connection is made behind it.
      def close
        @server.close
        @accepting.join
        cut
        @threads.list.each(&:join)
      end

      # Ends the connections there are. A shutdown ends what waits for a socket; closing it under a copy would not.
      # @return [Integer] how many there were
      def cut
        sockets = @lock.synchronize { @sockets.slice!(0..) }
        sockets.each { |socket| shut(socket) }.size / 2
      end

      private

      def start(&block)
        thread = Thread.new(&block)
        thread.name = "penstock forwarder"
        thread.report_on_exception = false # a connection that breaks is no news
        @threads.add(thread)
        thread
      end

      def accept
        nil while accept_one
      end

      # @return [Boolean] false when it is closed
      def accept_one
        forward(@server.accept)
        true
      rescue IOError, Errno::EBADF
        false
      rescue SystemCallError, ThreadError
        sleep(RETRY_S)
        true
      end

      def forward(client)
        broker = TCPSocket.new(*@target)
        @lock.synchronize do
          @sockets.reject!(&:closed?)
          @sockets.push(client, broker)
        end
        start { copy(client, broker) }
        start { copy(broker, client) }
      rescue SystemCallError, ThreadError
        [client, broker].compact.each(&:close)
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
