# frozen_string_literal: true

require "socket"

module Penstock
  module TestSupport
    module FreePort
      module_function

      # Ports on which nobody listens now. All are bound at the same time, so that they differ.
      #
      # @return [Array<Integer>]
      def take(count = 1)
        servers = Array.new(count) { TCPServer.new("127.0.0.1", 0) }
        servers.map { |server| server.addr[1] }
      ensure
        servers&.each(&:close)
      end
    end
  end
end
