# frozen_string_literal: true

require_relative "../native/child"
require_relative "frame"

module Penstock
  module Swarm
    # The supervisor's side of a process: reads its messages and notices its end. Used by the supervisor's main thread;
    # discarded with its process.
    class ProcessHandle
      # @param pid [Integer]
      # @param line [IO] connects it with the supervisor
      def initialize(pid, line)
        @child = Native::Child.new(pid)
        @line = line
        @parser = Frame::Parser.new
      end

      # @return [Integer]
      def pid = @child.pid

      # @return [Array<IO>] readable when there is a message, or the process has ended
      def ios = [@line, @child.io].compact

      # Reaps it, if it has ended.
      # @return [Array(Integer, Integer), nil] exit code and signal, of which one is nil; nil while it lives
      def ended = @child.reap

      # Closes the descriptors: when it has ended, when it doesn't end and is abandoned, or in another process after a fork.
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
