# frozen_string_literal: true

require "io/wait"
require "socket"

module Penstock
  module ServerProcess
    # Answers the clients of a socket one after another. Each has a second in all: one that says nothing, drips, or doesn't
    # read its answer, keeps the next waiting for no longer.
    #
    # One thread, born by {#start}. Ends with {#close}.
    class SocketServer
      CLIENT_S = 1.0
      # Without file descriptors to spare nobody is accepted; the next try comes after this.
      RETRY_S = 0.1
      CHUNK = 4_096
      private_constant :CLIENT_S, :RETRY_S, :CHUNK

      # @param server [TCPServer, UNIXServer]
      # @param ending [String] what a request ends with
      # @param longest [Integer] bytes of a request; a longer one isn't answered
      # @yieldparam request [String]
      # @yieldreturn [String] the answer
      def initialize(server, ending:, longest:, &answer)
        @server = server
        @ending = ending
        @longest = longest
        @answer = answer
      end

      # @param threads [#start] where threads are born
      # @param name [String] of the thread
      # @return [self]
      def start(threads, name)
        threads.start(name) { nil while serve }
        self
      end

      # Any thread, and a child of a fork: its parent's socket stays open.
      def close = @server.close

      private

      # @return [Boolean] false when it is closed
      def serve
        client = @server.accept
        attend(client)
        true
      rescue IOError, Errno::EBADF
        false
      rescue SystemCallError
        sleep(RETRY_S)
        true
      end

      def attend(client)
        deadline = now + CLIENT_S
        request = read(client, deadline) or return
        write(client, @answer.call(request), deadline)
      rescue SystemCallError, IOError # it is gone
        nil
      ensure
        client.close
      end

      # To its end: closing before that would reset the connection, and the answer with it.
      # @return [String, nil] nil for one that didn't come in time, or too long
      def read(client, deadline)
        request = String.new(encoding: Encoding::BINARY)
        until request.include?(@ending)
          return unless request.bytesize < @longest && client.wait_readable(left(deadline))
          part = client.read_nonblock(CHUNK, exception: false)
          return if part.nil?
          request << part if part.is_a?(String)
        end
        request
      end

      def write(client, answer, deadline)
        until answer.empty?
          return unless client.wait_writable(left(deadline))
          written = client.write_nonblock(answer, exception: false)
          answer = answer.byteslice(written..) if written.is_a?(Integer)
        end
      end

      def left(deadline) = [deadline - now, 0].max

      def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
    end
  end
end
