# frozen_string_literal: true

require "json"
require_relative "socket_server"

module Penstock
  module ServerProcess
    # Answers probes over HTTP: `GET /live`, `/ready` and `/health`, each 200 or 503 with the same JSON. A plain socket: a process
    # that consumes needs no web server for three answers. `/health` is 200 as long as somebody answers.
    #
    # One thread, the {SocketServer}'s. Ends with {#close}.
    class HealthPage
      LONGEST = 8_192
      TRUTHS = {"/live" => :live, "/ready" => :ready, "/health" => nil}.freeze
      private_constant :LONGEST, :TRUTHS

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
        socket = TCPServer.new(@host, @port)
        @port = socket.addr[1]
        @server = SocketServer.new(socket, ending: "\r\n\r\n", longest: LONGEST) { |request| response(request) }
        @server.start(threads, "penstock health")
        self
      end

      # Any thread, and a child of a fork.
      def close
        @server&.close
        @server = nil
      end

      alias_method :forget, :close

      private

      # @param request [String] its line and headers
      def response(request)
        status, body = page(request[%r{\A(?:GET|HEAD) ([^ ?]+)}, 1] || "/")
        "HTTP/1.1 #{status}\r\nContent-Type: application/json\r\nContent-Length: #{body.bytesize}\r\n" \
          "Connection: close\r\n\r\n#{body}"
      end

      def page(path)
        return ["404 Not Found", JSON.generate(error: "there are #{TRUTHS.keys.join(", ")}")] unless TRUTHS.key?(path)
        vitals = @vitals.call
        truth = TRUTHS[path]
        [(truth.nil? || vitals[truth]) ? "200 OK" : "503 Service Unavailable", JSON.generate(vitals)]
      rescue => error
        ["500 Internal Server Error", JSON.generate(error: "#{error.class}: #{error.message}")]
      end
    end
  end
end
