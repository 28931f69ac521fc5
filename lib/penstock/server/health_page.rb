# frozen_string_literal: true

require_relative "../printable"
require_relative "socket_server"

module Penstock
  module Server
    # Answers probes over HTTP: `GET /live`, `/ready` and `/health`, each with 200 or 503 and the same JSON. Uses a
    # plain socket: a few answers need no web server. `/health` is always 200. `/metrics` is a text for Prometheus. `/` is
    # `/live`: manifests written for a listener that answers every path usually have that one.
    #
    # One thread, the {SocketServer}'s. Ends with {#close}.
    class HealthPage
      LONGEST = 8_192
      TRUTHS = {"/live" => :live, "/ready" => :ready, "/health" => nil}.freeze
      ROOT = "/"
      METRICS = "/metrics"
      JSON_TYPE = "application/json"
      # Prometheus' text format.
      METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
      # The end of the headers; hand-written clients may omit the carriage returns.
      ENDING = /\r?\n\r?\n/
      REQUEST = %r{\A([A-Z]+) (/[^ ?\r\n]*)}
      private_constant :LONGEST, :TRUTHS, :ROOT, :METRICS, :JSON_TYPE, :METRICS_TYPE, :ENDING, :REQUEST

      # @param host [String]
      # @param port [Integer] 0 for a free one
      # @param vitals [#call] returns a Hash with `:live` and `:ready`
      # @param metrics [#call, nil] returns the text of `/metrics`; nil: there is no such page
      def initialize(host, port, vitals, metrics = nil)
        @host = host
        @port = port
        @vitals = vitals
        @metrics = metrics
      end

      # @return [Integer] the port
      attr_reader :port

      # @param threads [#start]
      # @return [self]
      # @raise [SystemCallError] the port is in use
      def start(threads)
        socket = TCPServer.new(@host, @port)
        @port = socket.addr[1]
        @server = SocketServer.new(socket, ending: ENDING, longest: LONGEST, too_long: too_long) { |request| response(request) }
        @server.start(threads, "penstock health")
        self
      end

      # Any thread.
      def close
        @server&.close
        @server = nil
      end

      # Called in a child of a fork: the port belongs to its parent.
      def forget
        @server&.forget
        @server = nil
      end

      private

      # @param request [String] request line and headers
      def response(request)
        method, path = request.match(REQUEST)&.captures
        case method
        when "GET" then http(*page(path))
        when "HEAD" then http(*page(path), head: true)
        when nil then http("400 Bad Request", json({error: "this is not an HTTP request"}))
        else http("405 Method Not Allowed", json({error: "use GET or HEAD"}), headers: "Allow: GET, HEAD\r\n")
        end
      end

      def too_long = http("431 Request Header Fields Too Large", json({error: "a request has at most #{LONGEST} bytes"}))

      def json(content) = Printable.json(content)

      def http(status, body, type = JSON_TYPE, headers: "", head: false)
        "HTTP/1.1 #{status}\r\nContent-Type: #{type}\r\nContent-Length: #{body.bytesize}\r\n#{headers}" \
          "Connection: close\r\n\r\n#{body unless head}"
      end

      # @return [Array] status, body, and type of the body unless it is JSON
      def page(path)
        path = "/live" if path == ROOT
        return metrics if path == METRICS && @metrics
        return ["404 Not Found", json({error: missing(path)})] unless TRUTHS.key?(path)
        vitals = @vitals.call
        truth = TRUTHS[path]
        [(truth.nil? || vitals[truth]) ? "200 OK" : "503 Service Unavailable", json(vitals)]
      rescue StandardError, ScriptError, SystemStackError => error
        ["500 Internal Server Error", json({error: Printable.error(error)})]
      end

      def metrics = ["200 OK", @metrics.call, METRICS_TYPE]

      def missing(path)
        hint = " (set config.metrics = true)" if path == METRICS
        "this page doesn't exist#{hint}; there are #{[*TRUTHS.keys, *(METRICS if @metrics)].join(", ")}"
      end
    end
  end
end
