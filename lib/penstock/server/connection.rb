# frozen_string_literal: true

module Penstock
  module Server
    # A client of a {SocketServer}: reads the request and writes the answer as fast as the client allows. {#step} does
    # what is possible now and never blocks, so a slow client costs nothing but its descriptor.
    #
    # Owned by the server's thread, which calls {#step} when the socket is ready, and closes the socket when {#step}
    # returns false or {#deadline} has passed.
    class Connection
      CHUNK = 4_096
      # Limit for the bytes after a request's end that are read and dropped. Closing a socket with unread bytes resets
      # it, and the client may lose the answer.
      SURPLUS = 65_536
      private_constant :SURPLUS

      # The server's protocol: `ending` is a Regexp for the end of a request, `longest` its maximum size in bytes,
      # `too_long` the answer to a longer one, `answer` is called with the request. `buffer` is used for reading and
      # shared by all connections of a server, so that a read allocates no memory.
      Rules = Struct.new(:ending, :longest, :too_long, :answer, :buffer, keyword_init: true)

      # @return [BasicSocket]
      attr_reader :socket
      # @return [Float] time limit of the client in monotonic seconds
      attr_reader :deadline

      # @param socket [BasicSocket]
      # @param deadline [Float]
      # @param rules [Rules]
      def initialize(socket, deadline, rules)
        @socket = socket
        @deadline = deadline
        @rules = rules
        @request = String.new(encoding: Encoding::BINARY)
        @state = :receiving
        @surplus = 0
      end

      # @return [Boolean] false when there is nothing left to do
      def step
        receive if @state == :receiving
        deliver if @state == :delivering
        drain if @state == :draining
        @state != :over
      rescue SystemCallError, IOError # the client has disconnected
        false
      end

      # Ruby releases its lock to close a socket, except if the write side has been shut down. Getting the lock again
      # takes up to 100 ms for each thread that computes, so closing a hundred connections could take many seconds.
      def close
        @socket.close_write
        @socket.close
      rescue SystemCallError, IOError # the descriptor is already closed
        nil
      end

      # @return [Boolean] whether it waits for the client to read
      def delivering? = @state == :delivering

      private

      def receive
        part = read
        return if part == :wait_readable
        return @state = :over if part.nil?
        from = [@request.bytesize - 3, 0].max # an ending has up to four bytes, some of which may have been read before
        @request << part
        if @request.index(@rules.ending, from)
          respond(@rules.answer.call(@request.byteslice(0, $~.end(0))), surplus: @request.bytesize > $~.end(0))
        elsif @request.bytesize >= @rules.longest
          respond(@rules.too_long, surplus: true)
        end
      end

      def respond(answer, surplus:)
        @left = answer
        @surplus = 1 if surplus
        @state = answer ? :delivering : :over
      end

      def deliver
        until @left.empty?
          written = @socket.write_nonblock(@left, exception: false)
          return if written == :wait_writable
          @left = @left.byteslice(written..)
        end
        return hang_up if @surplus.positive? || more?
        @state = :over
      end

      # @return [Boolean] whether the client has sent more than a request
      def more? = read.is_a?(String)

      def read = @socket.read_nonblock(CHUNK, @rules.buffer, exception: false)

      # The client reads the answer and the end of the stream, and closes.
      def hang_up
        @socket.close_write
        @state = :draining
      end

      def drain
        part = read
        return if part == :wait_readable
        @surplus += part.to_s.bytesize
        @state = :over if part.nil? || @surplus > SURPLUS
      end
    end
  end
end
