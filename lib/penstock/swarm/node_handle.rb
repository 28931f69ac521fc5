# frozen_string_literal: true

require_relative "process_handle"

module Penstock
  module Swarm
    # The supervisor's side of a node: a process handle that can send signals. The node reports on a pipe.
    class NodeHandle < ProcessHandle
      READ_BYTES = 64 * 1024
      private_constant :READ_BYTES

      # @return [Integer]
      attr_reader :index

      # @param index [Integer]
      # @param pid [Integer]
      # @param pipe [IO] carries the node's reports
      def initialize(index, pid, pipe)
        super(pid, pipe)
        @index = index
      end

      # Reads the available messages.
      # @yieldparam message [Struct]
      # @return [void]
      def read(&)
        while @line && (bytes = @line.read_nonblock(READ_BYTES, exception: false)) != :wait_readable
          return hang_up if bytes.nil?
          @parser.feed(bytes, &)
        end
      end

      # @param name [String]
      # @return [Boolean] whether the process existed to receive it
      def signal(name) = @child.signal(name)
    end
  end
end
