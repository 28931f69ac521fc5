# frozen_string_literal: true

require "socket"
require_relative "../clock"
require_relative "mold"
require_relative "process_handle"

module Penstock
  module Swarm
    # The supervisor's side of a mold: a process handle that can request nodes. The two communicate over a socket.
    class MoldHandle < ProcessHandle
      # How long to wait for a killed process.
      ENDING_S = 2.0
      private_constant :ENDING_S

      # @param application [Application]
      # @param inheritance [Hash] what it is forked with, except the socket
      # @return [MoldHandle]
      # @raise [SystemCallError] it can't be forked
      def self.fork(application, **inheritance)
        ours, theirs = UNIXSocket.pair(:SEQPACKET)
        pid = ::Process.fork do
          foreign = [*inheritance.fetch(:foreign), ours]
          Mold.new(application, Mold::Inheritance.new(**inheritance, socket: theirs, foreign: foreign)).run
        end
        new(pid, ours)
      rescue SystemCallError
        ours&.close
        raise
      ensure
        theirs&.close
      end

      # Requests a node; never waits.
      # @param ends [Array<IO>] the node's ends of its pipes
      # @return [Boolean] false: it is gone, or doesn't read
      def spawn(number, index, ends)
        return false unless @line # it has closed its end, and isn't reaped yet
        rights = Socket::AncillaryData.unix_rights(*ends)
        @line.sendmsg_nonblock(Frame.encode(Message::Spawn.new(number, index)), 0, nil, rights, exception: false).is_a?(Integer)
      rescue SystemCallError, IOError
        false
      end

      # Reads the available messages.
      # @yieldparam message [Struct]
      # @return [void]
      def read(&)
        while @line
          bytes, = @line.recvmsg_nonblock(Frame::MAX_BYTES, exception: false)
          return if bytes == :wait_readable
          return hang_up if bytes.nil? || bytes.empty? # end of the stream: nil in newer Rubies, empty in older ones
          @parser.feed(bytes, &)
        end
      rescue SystemCallError
        hang_up
      end

      def kill = @child.signal("KILL")

      # It has nothing that must be closed in order.
      def end!
        kill
        ends = now + ENDING_S
        IO.select([@child.io].compact, nil, nil, 0.05) until ended || now > ends
        close
      end

      private

      def now = Clock.seconds
    end
  end
end
