# frozen_string_literal: true

require_relative "../native/child"
require_relative "frame"

module Penstock
  module Swarm
    # A process as the supervisor sees it: what it says, and its end. Used by the supervisor's main thread; thrown away with its
    # process.
    class ProcessHandle
      # @param pid [Integer]
      # @param line [IO] on which it talks to the supervisor
      def initialize(pid, line)
        @child = Native::Child.new(pid)
        @line = line
        @parser = Frame::Parser.new
      end

      # @return [Integer]
      def pid = @child.pid

      # @return [Array<IO>] what tells that there is something to look at
      def ios = [@line, @child.io].compact

      # Waits for it, if it has ended.
      # @return [Array(Integer, Integer), nil] exit code and signal, of which one is nil; nil while it lives
      def ended = @child.reap

      # Lets go of it: where it has ended, where it doesn't, in another process.
      def close
        hang_up
        @child.close
      end

      private

      def hang_up
        @line&.close
        @line = nil
      end
    end
  end
end
