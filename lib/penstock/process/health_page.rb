# frozen_string_literal: true

require "io/wait"
require "json"
require "socket"

module Penstock
  module ServerProcess
    # Answers probes over HTTP: `GET /live`, `/ready` and `/health`, each 200 or 503 with the same JSON. A plain socket: a process
    # that consumes needs no web server for three answers. `/health` is 200 as long as somebody answers.
    #
    # One thread, which answers one client after another and waits for none longer than a second. Ends with {#close}.
    class HealthPage
      WAIT_S = 1.0
      LONGEST = 8_192
      TRUTHS = {"/live" => :live, "/ready" => :ready, "/health" => nil}.freeze
      private_constant :WAIT_S, :LONGEST, :TRUTHS

      # @param host [String]
      # @param port [Integer] 0 for a free one
      # @param vitals [#call] gives a Hash with `:live` and `:ready`
      def initialize(host, port, vitals)
        @host = host
        @port = port
        @vitals = vitals
      end

      # @return [Integer] the port
      attr_reader :port

      # @param threads [#start]
      # @return [self]
      # @raise [SystemCallError] the port is taken
      def start(threads)
        @server = TCPServer.new(@host, @port)
        @port = @server.addr[1]
        threads.start("penstock health") { serve }
        self
      end

      # Any thread, and a child of a fork.
      def close
        @server&.close
        @server = nil
      end

      alias_method :forget, :close

      private

      def serve
        while (client = @server&.accept)
          answer(client)
        end
      rescue IOError, Errno::EBADF # closed
        nil
      end

      def answer(client)
        path = request(client) or return
        status, body = page(path)
        client.write("HTTP/1.1 #{status}\r\nContent-Type: application/json\r\nContent-Length: #{body.bytesize}\r\n" \
          "Connection: close\r\n\r\n#{body}")
      rescue SystemCallError, IOError # it is gone
        nil
      ensure
        client.close
      end

      # Read to the end of the headers: closing before would reset the connection, and the answer with it.
      # @return [String, nil] the path
      def request(client)
        text = +""
        until text.include?("\r\n\r\n")
          return unless text.bytesize < LONGEST && client.wait_readable(WAIT_S)
          text << client.readpartial(LONGEST)
        end
        text[%r{\A(?:GET|HEAD) ([^ ?]+)}, 1] || "/"
      end

      def page(path)
        return ["404 Not Found", JSON.generate(error: "there are #{TRUTHS.keys.join(", ")}")] unless TRUTHS.key?(path)
        vitals = @vitals.call
        truth = TRUTHS[path]
        [(truth.nil? || vitals[truth]) ? "200 OK" : "503 Service Unavailable", JSON.generate(vitals)]
      end
    end
  end
end
