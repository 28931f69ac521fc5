# frozen_string_literal: true

module Penstock
  module Server
    # One client of a {SocketServer}: takes its request as it comes, sends the answer as the client reads it. {#step} does what
    # can be done now and never waits, so a client that is slow costs nothing but its descriptor.
    #
    # Owned by the server's thread, which calls {#step} when the socket is ready, and closes the socket when {#step} says that it
    # is over or {#deadline} has passed.
    class Connection
      CHUNK = 4_096
      # Bytes after a request's end that are read and dropped. Closing a socket with unread bytes resets it, and the client may
      # lose the answer.
      SURPLUS = 65_536
      private_constant :SURPLUS

      # What a server expects and says: `ending` is a Regexp for the end of a request, `longest` the bytes it may have, `too_long`
      # the answer to a longer one, `answer` is called with the request. `buffer` is what bytes are read into, shared by
      # all connections of a server, so that a read allocates no memory.
      Rules = Struct.new(:ending, :longest, :too_long, :answer, :buffer, keyword_init: true)

      # @return [BasicSocket]
      attr_reader :socket
      # @return [Float] monotonic seconds at which the client has had its time
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
      rescue SystemCallError, IOError # the client has gone
        false
      end

      # Ruby releases its lock to close a socket, but not if the side for writing has been shut. Getting the lock back takes up to
      # 100 ms for each thread that computes, so closing a hundred connections one by one could take many seconds.
      def close
        @socket.close_write
        @socket.close
      rescue SystemCallError, IOError # somebody else has closed the descriptor
        nil
      end

      # @return [Boolean] whether it waits for the client to read
      def delivering? = @state == :delivering

      private

      def receive
        part = read
        return if part == :wait_readable
        return @state = :over if part.nil?
        from = [@request.bytesize - 3, 0].max # an ending has up to four bytes, some of which may be here already
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

      # The client reads the answer and its end, and closes.
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
