# frozen_string_literal: true

require_relative "process_handle"

module Penstock
  module Swarm
    # One process of a node: besides what all have, signals. It reports on a pipe.
    class NodeHandle < ProcessHandle
      READ_BYTES = 64 * 1024
      private_constant :READ_BYTES

      # @return [Integer]
      attr_reader :index

      # @param index [Integer]
      # @param pid [Integer]
      # @param pipe [IO] what it reports on
      def initialize(index, pid, pipe)
        super(pid, pipe)
        @index = index
      end

      # Reads what is there.
      # @yieldparam message [Struct]
      # @return [void]
      def read(&)
        while @line && (bytes = @line.read_nonblock(READ_BYTES, exception: false)) != :wait_readable
          return hang_up if bytes.nil?
          @parser.feed(bytes, &)
        end
      end

      # @param name [String]
      # @return [Boolean] whether it was there to receive it
      def signal(name) = @child.signal(name)
    end
  end
end
