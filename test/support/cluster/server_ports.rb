# frozen_string_literal: true

require "socket"

module Penstock
  module TestSupport
    # Ports for servers that stop and start again. They are below those that the kernel gives to outgoing connections:
    # one of these could take the port of a broker that is down for a moment.
    module ServerPorts
      RANGE = (20_000..29_000)

      module_function

      # @param count [Integer]
      # @return [Array<Integer>] consecutive ports on which nobody listens now
      def take(count)
        100.times do
          first = rand(RANGE.begin..(RANGE.end - count))
          ports = (first...(first + count)).to_a
          return ports if ports.all? { |port| free?(port) }
        end
        raise "no #{count} free ports in a row within #{RANGE}"
      end

      def free?(port)
        TCPServer.new("127.0.0.1", port).close
        true
      rescue SystemCallError
        false
      end
    end
  end
end
