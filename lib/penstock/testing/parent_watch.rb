# frozen_string_literal: true

require "io/wait"

module Penstock
  module Testing
    # Notices that the parent process has ended: the pipe that is standard input closes, or this process gets another parent.
    # Both, because a process forked from the parent holds the pipe open. Owns a thread, which ends with the parent or this
    # process.
    class ParentWatch
      INTERVAL_S = 1
      private_constant :INTERVAL_S

      # @param stream [IO] standard input
      # @param parent [#call] returns the id of the parent
      # @yield once, on a thread of its own, when the parent has ended
      def initialize(stream, parent: ::Process.method(:ppid))
        @stream = stream
        @parent = parent
        @born_of = parent.call
        @thread = Thread.new do
          nil until ended?
          yield
        end
      end

      # Waits until the parent has ended and the block was called.
      # @return [void]
      def join = @thread.join

      private

      def ended?
        return true if @parent.call != @born_of
        @stream.read_nonblock(4_096) if @stream.wait_readable(INTERVAL_S)
        false
      rescue EOFError
        true
      end
    end
  end
end
