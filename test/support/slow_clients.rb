# frozen_string_literal: true

require "json"
require "rbconfig"
require "socket"

module Penstock
  module TestSupport
    # Clients of a socket that misbehave, many at once: some send a proper request byte by byte, some send nothing or
    # rubbish, don't read the answer, or disconnect in the middle. Run as a program of its own, so that it takes no time
    # from the process that measures: one thread, one `IO.select`.
    class SlowClients
      # How a client sends a request: seconds to wait and bytes, alternating; and what it does in the end.
      Manner = Struct.new(:pieces, :ends)
      # One client: since when it is in its current step, and how far it has come.
      Client = Struct.new(:manner, :socket, :due, :left)

      RUBBISH = "\xFF\xFE\0\e[2J{[\"".b * 40

      # @param request [String] a proper one
      # @return [Array<Manner>]
      def self.manners(request)
        drips = request.scan(/.{1,#{(request.size / 8.0).ceil}}/m).map { |part| [0.05, part] }
        [Manner.new(drips, :reads), Manner.new([], :waits), Manner.new([[0.1, RUBBISH]], :waits),
          Manner.new([[0.0, request]], :leaves), Manner.new([[0.0, request[0, 5]], [0.3, request[5, 3]]], :vanishes)]
      end

      # Runs in the program.
      # @param path [String] of a Unix socket, or a port
      def initialize(path, request, clients:, requests:)
        @path = path
        @manners = self.class.manners(request)
        @left = requests
        @counts = Hash.new(0)
        @clients = Array.new(clients) { |index| Client.new(@manners[index % @manners.size]) }
      end

      # @return [Hash{Symbol => Integer}] what became of their requests
      def run
        turn until @left <= 0 && @clients.all? { |client| client.socket.nil? }
        @counts
      end

      private

      def turn
        open = @clients.select(&:socket)
        (@clients - open).each { |client| begin_request(client) } if @left.positive?
        readable, = IO.select(open.map(&:socket), nil, nil, 0.01)
        readable&.each { |socket| come(open.find { |client| client.socket == socket }) }
        open.each { |client| go_on(client) if client.socket && client.due <= now }
      end

      def begin_request(client)
        @left -= 1
        @counts[:requests] += 1
        client.socket = connect
        client.left = client.manner.pieces.dup
        client.due = now + (client.left.first&.first || 0.6)
      rescue SystemCallError => error
        @counts[error.class.name.to_sym] += 1
      end

      def connect
        return TCPSocket.new("127.0.0.1", Integer(@path)) if @path.match?(/\A\d+\z/)
        UNIXSocket.new(@path)
      end

      # Reads the answer, or the end. A client that doesn't read leaves it there.
      def come(client)
        return unless client && client.manner.ends != :leaves
        part = client.socket.read_nonblock(65_536, exception: false)
        return if part == :wait_readable
        @counts[(part && part.match?(/200 OK|"ok":true/)) ? :answered : :refused] += 1 if client.manner.ends == :reads
        over(client)
      rescue SystemCallError
        @counts[:reset] += 1
        over(client)
      end

      def go_on(client)
        piece = client.left.shift or return over(client)
        client.socket.write_nonblock(piece.last, exception: false)
        client.due = now + (client.left.first&.first || 0.6)
      rescue SystemCallError
        @counts[:reset] += 1
        over(client)
      end

      def over(client)
        vanish(client.socket) if client.manner.ends == :vanishes
        client.socket.close
        client.socket = nil
      end

      def vanish(socket)
        socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
      end

      def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)

      class << self
        # Runs them in a process of their own while the block runs.
        #
        # @param path [String, Integer] of a Unix socket, or a port
        # @param request [String]
        # @return [Hash{Symbol => Integer}]
        def run(path, request, clients:, requests:)
          reader, writer = IO.pipe
          options = JSON.generate([path.to_s, request, clients, requests])
          pid = ::Process.spawn(RbConfig.ruby, "--disable=gems,rubyopt", __FILE__, options, out: writer)
          writer.close
          yield until reader.wait_readable(0)
          JSON.parse(reader.read, symbolize_names: true)
        ensure
          writer.close
          reader.close
          finish(pid) if pid
        end

        private

        def finish(pid)
          ::Process.kill(:KILL, pid)
        rescue Errno::ESRCH
          nil
        ensure
          ::Process.wait(pid)
        end
      end
    end
  end
end

if $PROGRAM_NAME == __FILE__
  path, request, clients, requests = JSON.parse(ARGV.fetch(0))
  puts JSON.generate(Penstock::TestSupport::SlowClients.new(path, request, clients: clients, requests: requests).run)
end
