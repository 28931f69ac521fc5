# frozen_string_literal: true

require "socket"
require_relative "accepting"

module Penstock
  module TestSupport
    # Stands between clients and a single broker, real or of a mock cluster, and changes responses to one kind of request: the
    # block gets the bytes of each and returns the bytes to send on, or nil if it is lost. Brokers advertise their own port; in
    # the responses clients see the proxy's instead. Runs two threads per connection, which end with {#close}. For three
    # brokers there is the fault proxy (cluster/fault_proxy.rb).
    class DamagingProxy
      HOST = "127.0.0.1"
      FETCH = 1

      # @return [Integer] port on which it listens
      attr_reader :port

      # @param target [String] `host:port` of the broker
      # @param api [Integer] number of the kind of request
      # @yieldparam [String] a response
      # @yieldreturn [String, nil] of the same length or another
      def initialize(target, api: FETCH, &damage)
        @api = api
        @host, @target = target.split(":")
        @damage = damage
        @server = TCPServer.new(HOST, 0)
        @port = @server.addr[1]
        @own = [HOST + [@target.to_i].pack("N"), HOST + [@port].pack("N")].map(&:b)
        @lock = Mutex.new
        @sockets = []
        @threads = [Thread.new { accept }]
      end

      def bootstrap_servers = "#{HOST}:#{@port}"

      def close
        @server.close
        @lock.synchronize { @sockets.each { |socket| shut(socket) } }
        nil while @lock.synchronize { @threads.pop }&.join
      end

      private

      def accept
        Accepting.each(@server) do |client|
          broker = TCPSocket.new(@host, @target)
          apis = {} # keyed by correlation id
          @lock.synchronize do
            @sockets.push(client, broker)
            @threads << Thread.new { copy(client, broker) { |frame| frame.tap { apis[frame[4, 4]] = frame.unpack1("n") } } }
            @threads << Thread.new { copy(broker, client) { |frame| response(frame, apis.delete(frame[0, 4])) } }
          end
        end
      rescue IOError, SystemCallError
        nil
      end

      def response(frame, api) = (api == @api) ? @damage.call(frame) : frame.gsub(*@own)

      # Yields frames; each begins with its length.
      def copy(from, to)
        while (length = from.read(4)&.unpack1("N"))
          frame = yield(from.read(length)) or next
          to.write([frame.bytesize].pack("N"), frame)
        end
      rescue IOError, SystemCallError
        nil
      ensure
        [from, to].each { |socket| shut(socket) }
      end

      def shut(socket)
        socket.shutdown
      rescue IOError, SystemCallError
        nil
      ensure
        socket.close unless socket.closed?
      end
    end
  end
end
