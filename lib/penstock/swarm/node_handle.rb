# frozen_string_literal: true

require_relative "../native/child"
require_relative "frame"

module Penstock
  module Swarm
    # One process of a node as its supervisor sees it: signals, messages, its end. Used by the supervisor's main thread; thrown
    # away with its process.
    class NodeHandle
      READ_BYTES = 64 * 1024
      private_constant :READ_BYTES

      # @return [Integer]
      attr_reader :index

      # @param index [Integer]
      # @param pid [Integer]
      # @param pipe [IO] what it reports on
      def initialize(index, pid, pipe)
        @index = index
        @child = Native::Child.new(pid)
        @pipe = pipe
        @parser = Frame::Parser.new
      end

      # @return [Integer]
      def pid = @child.pid

      # @return [Array<IO>] what tells that there is something to look at
      def ios = [@pipe, @child.io].compact

      # Reads what is there.
      # @yieldparam message [Struct]
      # @return [void]
      def read(&)
        while @pipe && (bytes = @pipe.read_nonblock(READ_BYTES, exception: false)) != :wait_readable
          return close_pipe if bytes.nil?
          @parser.feed(bytes, &)
        end
      end

      # @param name [String]
      # @return [Boolean] whether it was there to receive it
      def signal(name) = @child.signal(name)

      # Waits for it, if it has ended.
      # @return [Array(Integer, Integer), nil] exit code and signal, of which one is nil; nil while it lives
      def ended = @child.reap

      # Lets go of it, in the supervisor when it has ended, in another node at once.
      def close
        close_pipe
        @child.close
      end

      private

      def close_pipe
        @pipe&.close
        @pipe = nil
      end
    end
  end
end
