# frozen_string_literal: true

require "socket"
require_relative "wait"

module Penstock
  module TestSupport
    # Stands between clients and a broker that names this port as its own, and cuts all connections when it is told to. Two
    # threads a connection copy bytes; {#close} ends them all.
    class CuttingProxy
      attr_reader :port, :cuts

      # @param port [Integer] to listen at, on 127.0.0.1
      # @param target [Integer] the broker's port
      def initialize(port, target)
        @server = TCPServer.new("127.0.0.1", port)
        @port = port
        @target = target
        @lock = Mutex.new
        @sockets = []
        @threads = ThreadGroup.new
        @cuts = 0
        start { accept }
      end

      # @return [Integer] how many connections there were
      def cut
        sockets = @lock.synchronize { @sockets.dup.tap { @sockets.clear } }
        @cuts += 1 if sockets.any?
        sockets.each { |socket| shut(socket) }.size / 2
      end

      # Cuts again and again until the block has ended.
      #
      # @param every [Range] seconds between two cuts
      def cutting(every:, random: Random.new(1))
        stop = false
        thread = Thread.new do
          until stop
            Wait.observe_for(random.rand(every))
            cut
          end
        end
        yield
      ensure
        stop = true
        thread.join
      end

      def close
        @server.close
        cut
        @threads.list.each(&:join)
      end

      private

      def start(&block)
        thread = Thread.new(&block)
        thread.report_on_exception = false
        @threads.add(thread)
      end

      def accept
        loop { forward(@server.accept) }
      rescue IOError, Errno::EBADF
        nil # closed
      end

      def forward(client)
        broker = TCPSocket.new("127.0.0.1", @target)
        @lock.synchronize { @sockets.push(client, broker) }
        start { copy(client, broker) }
        start { copy(broker, client) }
      rescue SystemCallError
        client.close
      end

      def copy(from, to)
        IO.copy_stream(from, to)
      rescue IOError, SystemCallError
        nil # it was cut, or the other direction ended first
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
