# frozen_string_literal: true

require "io/wait"
require "socket"
require_relative "../errors"

module Penstock
  module Testing
    # Makes an embedded broker reachable at a chosen port: the mock cluster always uses a free port. Only a client's
    # first connection uses this port; the answer names the broker's own port, so records never pass through here. Two
    # threads per connection copy bytes, one in each direction, until a side closes; {#close} ends them all.
    class PortForwarder
      # Wait before the next try if no descriptor or thread is available for a connection.
      RETRY_S = 0.1
      private_constant :RETRY_S

      # @return [Integer] the port it listens on
      attr_reader :port

      # @param port [Integer] port to listen on, on 127.0.0.1
      # @param target [String] `host:port` of the broker
      # @raise [ConfigurationError] the port is in use
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

      # Accepts no further connections.
      def close
        @server.close
        @accepting.join
        cut
        @threads.list.each(&:join)
      end

      # Ends the open connections. A shutdown wakes a thread that waits for a socket; closing the socket during a copy
      # would not.
      # @return [Integer] number of closed connections
      def cut
        sockets = @lock.synchronize { @sockets.slice!(0..) }
        sockets.each { |socket| shut(socket) }.size / 2
      end

      private

      def start(&block)
        thread = Thread.new(&block)
        thread.name = "penstock forwarder"
        thread.report_on_exception = false # a broken connection needs no report
        @threads.add(thread)
        thread
      end

      def accept
        nil while accept_one
      end

      # A connection that a blocking `accept` took while another thread closed the server would stay open: Ruby raises
      # and forgets its descriptor.
      # @return [Boolean] false when it is closed
      def accept_one
        @server.wait_readable
        client = @server.accept_nonblock(exception: false)
        forward(client) unless client == :wait_readable
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
