# frozen_string_literal: true

require "socket"
require_relative "../clock"
require_relative "connection"

module Penstock
  module Server
    # Answers the clients of a socket, one request each. Clients may send anything, at any rate, or nothing: no client
    # waits for another, and nothing they do ends the server.
    #
    # One thread waits in one `IO.select` for all of them, and never in a read or a write ({Connection}). A client has
    # {CLIENT_S} in total. When {.most} connections are open and another one doesn't finish at once, the oldest is
    # closed, so a client that sends its request is answered even if many others are silent.
    #
    # Without a free descriptor a new connection uses the spare one, the next one that of the oldest connection. If
    # there is none, accepting pauses for {RETRY_S}: the socket stays readable, and retrying at once would be a busy
    # loop.
    #
    # The thread is started by {#start}, or is the caller's of {#run}. Ends with {#close}.
    class SocketServer
      # Seconds a client has, from accepting it to the end of its answer.
      CLIENT_S = 2.0
      # Maximum number of connections, if the process may open many descriptors.
      MOST = 512
      # Seconds until accepting is retried.
      RETRY_S = 0.1
      # Longest time that {#close} waits for the thread.
      CLOSE_S = 1.0
      # Longest time per turn for accepting.
      TURN_S = 0.01
      # An error that occurs with each request is reported at most once in this many seconds.
      REPORT_S = 60
      EXHAUSTED = [Errno::EMFILE, Errno::ENFILE, Errno::ENOBUFS, Errno::ENOMEM].freeze
      private_constant :REPORT_S, :EXHAUSTED

      # @return [Integer] connections a server of this process may have open: an eighth of its descriptors, at most {MOST}
      def self.most = (::Process.getrlimit(:NOFILE).first / 8).clamp(8, MOST)

      # @param server [TCPServer, UNIXServer]
      # @param ending [Regexp] end of a request, up to four bytes
      # @param longest [Integer] maximum size of a request in bytes
      # @param too_long [String, nil] the answer to a longer one
      # @param most [Integer] maximum number of open connections
      # @param client_s [Numeric] time limit of a client in seconds
      # @yieldparam request [String] its bytes, including the ending
      # @yieldreturn [String, nil] the answer; nil closes the connection
      def initialize(server, ending:, longest:, too_long: nil, most: self.class.most, client_s: CLIENT_S, &answer)
        @server = server
        @answer = answer
        @rules = Connection::Rules.new(ending: ending, longest: longest, too_long: too_long, answer: method(:answer),
          buffer: String.new(capacity: Connection::CHUNK, encoding: Encoding::BINARY))
        @most = most
        @client_s = client_s
        @connections = {} # socket => Connection, the oldest first
        @writing = {}
        @wake, @waker = IO.pipe
        @spare = spare
        @closed = false
      end

      # @param threads [#start, #report] starts the thread
      # @param name [String] name of the thread
      # @return [self]
      def start(threads, name)
        @report = ->(error) { threads.report(name, error) }
        @thread = threads.start(name) { run }
        self
      end

      # Serves until {#close} is called, or one of the streams becomes readable or ends.
      # @param watched [Array<IO>]
      # @return [void]
      def run(watched = [])
        nil while turn(watched)
      ensure
        close_all
      end

      # Stops accepting connections and closes the open ones. Waits for the server's thread, because otherwise the
      # kernel would keep the socket open until the thread's wait has ended; one second at most, because an answer may
      # take long. Any thread.
      def close
        @closed = true
        @server.close
        wake
        @thread&.join(CLOSE_S) unless Thread.current.equal?(@thread)
      end

      # Called in a child of a fork: closes its copies of the parent's descriptors, and nothing else. A shutdown would
      # affect the parent's clients.
      def forget
        @closed = true
        [@server, *@connections.keys, @wake, @waker, @spare].compact.each(&:close)
      end

      private

      def wake
        @waker.write_nonblock(".", exception: false)
      rescue IOError, Errno::EPIPE # the thread has ended
        nil
      end

      # @return [Boolean] false when the server has ended
      def turn(watched)
        readable, writable = IO.select(readers(watched), @writing.keys, nil, patience)
        return false if @closed || watched.any? { |stream| readable&.include?(stream) }
        serve(readable.to_a, writable.to_a)
        true
      rescue => error
        return false if @closed || @server.closed?
        failed(error)
        true
      end

      def readers(watched)
        waiting = @writing.empty? ? @connections.keys : @connections.keys - @writing.keys
        waiting.unshift(@wake, *watched)
        waiting << @server unless @resume_at
        waiting
      end

      # @return [Float, nil] seconds until something is due
      def patience
        due = [oldest&.deadline, @resume_at].compact.min
        due && [due - now, 0].max
      end

      def serve(readable, writable)
        @wake.read_nonblock(64, exception: false) if readable.include?(@wake)
        (readable | writable).each { |socket| advance(@connections[socket]) if @connections.key?(socket) }
        @resume_at = nil if @resume_at && now >= @resume_at
        accept_all if readable.include?(@server)
        expire
        @spare ||= spare
      end

      # --- connections

      def advance(connection)
        return drop(connection) unless connection.step
        connection.delivering? ? @writing[connection.socket] = true : @writing.delete(connection.socket)
      end

      # A client's request often arrives with its connection: it is answered at once and needs no place.
      def accept_all
        ends = now + TURN_S
        while (socket = accept)
          attend(Connection.new(socket, now + @client_s, @rules))
          break if now > ends
        end
      end

      def attend(connection)
        return drop(connection) unless connection.step
        dismiss(oldest) if @connections.size >= @most
        @connections[connection.socket] = connection
        @writing[connection.socket] = true if connection.delivering?
      end

      def expire
        at = now
        dismiss(oldest) while oldest && oldest.deadline <= at
      end

      # Data that the client has sent meanwhile is in time: this thread may have had to wait for Ruby's lock.
      def dismiss(connection)
        connection.step
        drop(connection)
      end

      def oldest = @connections.first&.last

      def drop(connection)
        @connections.delete(connection.socket)
        @writing.delete(connection.socket)
        connection.close
        @spare ||= spare # before another part of the process takes the descriptor
      end

      # @return [BasicSocket, nil] nil: none is available now
      def accept
        socket = @server.accept_nonblock(exception: false)
        (socket == :wait_readable) ? nil : socket
      rescue *EXHAUSTED
        return unless waiting? # the kernel needs a descriptor before it checks for a client
        retry if make_room
        @resume_at = now + RETRY_S
        nil
      rescue Errno::ECONNABORTED, Errno::EPROTO # that client has disconnected
        nil
      end

      # @return [Boolean] whether a connection can be accepted
      def waiting? = !IO.select([@server], nil, nil, 0).nil?

      # @return [Boolean] whether a descriptor has become free
      def make_room
        dismiss(oldest) until @spare || oldest.nil?
        return false unless @spare
        @spare.close
        @spare = nil
        true
      end

      def spare
        File.open(File::NULL)
      rescue SystemCallError
        nil
      end

      # --- failures

      def answer(request)
        @answer.call(request)
      rescue StandardError, ScriptError, SystemStackError => error
        report(error)
        nil
      end

      # The state of the connections may be inconsistent now: they are closed, and the server continues after a moment.
      def failed(error)
        report(error)
        drop(oldest) while oldest
        @resume_at = now + RETRY_S
      end

      def report(error)
        return if @report.nil? || (@reported_at && now - @reported_at < REPORT_S)
        @reported_at = now
        @report.call(error)
      end

      def close_all
        drop(oldest) while oldest
        [@server, @wake, @waker, @spare].compact.each(&:close)
      end

      def now = Clock.seconds
    end
  end
end
