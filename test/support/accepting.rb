# frozen_string_literal: true

require "io/wait"
require "socket"

module Penstock
  module TestSupport
    # Accepts connections until the server is closed, by another thread. A blocking `accept` that a close interrupts may have
    # taken a connection, which then stays open: Ruby raises and forgets its descriptor.
    module Accepting
      # @param server [TCPServer]
      # @yieldparam socket [TCPSocket] for the block to close
      # @raise [IOError, SystemCallError] the server was closed
      def self.each(server)
        loop do
          server.wait_readable
          socket = server.accept_nonblock(exception: false)
          yield socket unless socket == :wait_readable
        end
      end
    end
  end
end
