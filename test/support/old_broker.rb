# frozen_string_literal: true

require "socket"
require_relative "accepting"

module Penstock
  module TestSupport
    # A broker that answers one request, which of them it knows (ApiVersions, version 0), and closes the connection at any other.
    class OldBroker
      API_VERSIONS = 18
      UNSUPPORTED_VERSION = 35

      # @param newest [Hash{Integer => Integer}] the newest version of each request it knows
      def initialize(newest)
        @newest = {API_VERSIONS => 0, **newest}
        @server = TCPServer.new("127.0.0.1", 0)
        @thread = Thread.new { serve }
      end

      def bootstrap_servers = "127.0.0.1:#{@server.local_address.ip_port}"

      def close
        @server.close
        @thread.join
      end

      private

      def serve
        Accepting.each(@server) { |socket| Thread.new { converse(socket) } }
      rescue IOError
        nil # it was closed
      end

      def converse(socket)
        while (size = socket.read(4))
          key, version, correlation = socket.read(size.unpack1("N")).unpack("nnN")
          break unless key == API_VERSIONS
          answer = [correlation].pack("N") + (version.zero? ? versions : [UNSUPPORTED_VERSION, 0].pack("nN"))
          socket.write([answer.bytesize].pack("N") + answer)
        end
      rescue SystemCallError
        nil # the client has gone
      ensure
        socket.close
      end

      def versions = [0, @newest.size, *@newest.flat_map { |key, newest| [key, 0, newest] }].pack("nN" + "n*")
    end
  end
end
