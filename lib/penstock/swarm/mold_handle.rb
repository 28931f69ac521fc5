# frozen_string_literal: true

require "socket"
require_relative "../native/child"
require_relative "frame"
require_relative "mold"

module Penstock
  module Swarm
    # One process of a mold as the supervisor sees it: requests, messages, its end. Used by the supervisor's main thread; thrown
    # away with its process.
    class MoldHandle
      # For a process that was killed to be waited for.
      ENDING_S = 2.0
      private_constant :ENDING_S

      # @param application [Application]
      # @param inheritance [Hash] what it is forked with, but the socket
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

      # @param pid [Integer]
      # @param socket [UNIXSocket]
      def initialize(pid, socket)
        @child = Native::Child.new(pid)
        @socket = socket
        @parser = Frame::Parser.new
      end

      # @return [Integer]
      def pid = @child.pid

      # @return [Array<IO>] what tells that there is something to look at
      def ios = [@socket, @child.io].compact

      # Asks for a node; never waits.
      # @param ends [Array<IO>] what is the node's of its pipes
      # @return [Boolean] false: it is gone, or doesn't read
      def bear(number, index, ends)
        return false unless @socket # it has closed its end, and isn't waited for yet
        rights = Socket::AncillaryData.unix_rights(*ends)
        @socket.sendmsg_nonblock(Frame.encode(Message::Bear.new(number, index)), 0, nil, rights, exception: false).is_a?(Integer)
      rescue SystemCallError, IOError
        false
      end

      # Reads what is there.
      # @yieldparam message [Struct]
      # @return [void]
      def read(&)
        while @socket
          bytes, = @socket.recvmsg_nonblock(Frame::MAX_BYTES, exception: false)
          return if bytes == :wait_readable
          return close_socket if bytes.nil? || bytes.empty? # its end, as newer Rubies say it or older ones
          @parser.feed(bytes, &)
        end
      rescue SystemCallError
        close_socket
      end

      # Waits for it, if it has ended.
      # @return [Array(Integer, Integer), nil] exit code and signal, of which one is nil; nil while it lives
      def ended = @child.reap

      def kill = @child.signal("KILL")

      # Lets go of it, in another process, or where it doesn't end.
      def close
        close_socket
        @child.close
      end

      # It has nothing that must be put away in order.
      def end!
        kill
        ends = now + ENDING_S
        IO.select([@child.io].compact, nil, nil, 0.05) until ended || now > ends
        close
      end

      private

      def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)

      def close_socket
        @socket&.close
        @socket = nil
      end
    end
  end
end
