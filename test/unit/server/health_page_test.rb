# frozen_string_literal: true

require "test_helper"
require "json"
require "net/http"
require "penstock/server/health_page"
require "penstock/runtime/threads"

module Penstock
  class HealthPageTest < TestCase
    def setup
      super
      @vitals = {live: true, ready: false, state: "running"}
      @threads = Runtime::Threads.new(->(_name, error) { raise error })
      @page = Server::HealthPage.new("127.0.0.1", 0, -> { @vitals }).start(@threads)
    end

    def teardown
      @page.close
      wait_until(20) { @threads.living.empty? }
      super
    end

    def get(path) = Net::HTTP.get_response("127.0.0.1", path, @page.port)

    test "[k8s liveness] live, ready and health answer 200 or 503 with the same JSON, with its length" do
      answers = %w[/live /ready /health /live?x=1].map { |path| get(path) }

      assert_equal %w[200 503 200 200], answers.map(&:code)
      assert_equal({"live" => true, "ready" => false, "state" => "running"}, JSON.parse(answers[1].body))
      assert_equal answers[0].body.bytesize, answers[0]["content-length"].to_i
    end

    test "[swarm liveness probe] a process that isn't live any more gives 503" do
      @vitals = {live: false, ready: false, reason: "a poll loop is blocked"}

      assert_equal %w[503 503 200], %w[/live /ready /health].map { |path| get(path).code }
      assert_match(/is blocked/, get("/live").body)
    end

    test "the root answers like live; HEAD works there, too" do
      assert_equal %w[200 200], ["/", "/?x=1"].map { |path| get(path).code }
      @vitals = {live: false, ready: true}

      assert_equal ["503", {"live" => false, "ready" => true}], [get("/").code, JSON.parse(get("/").body)]
      assert_match(/\AHTTP\/1.1 503/, raw("HEAD / HTTP/1.1\r\n\r\n"))
    end

    test "another path gives 404 with the existing paths" do
      answer = get("/metrics")

      assert_equal "404", answer.code
      assert_match(%r{/live, /ready, /health}, answer.body)
    end

    # @return [String] the whole answer to raw bytes
    def raw(bytes)
      TCPSocket.open("127.0.0.1", @page.port) do |socket|
        socket.write(bytes)
        assert socket.wait_readable(40), "no answer to #{bytes.inspect[0, 80]}"
        socket.read
      end
    end

    test "HEAD has no body; other methods, invalid HTTP and requests that are too long get their HTTP status" do
      head = raw("HEAD /live HTTP/1.1\r\n\r\n")

      assert_match(/\AHTTP\/1.1 200 OK\r\n.*Content-Length: [1-9]/m, head)
      assert head.end_with?("\r\n\r\n")
      requests = ["POST /live HTTP/1.1\r\n\r\n{}", "\xFF\0\r\n\r\n", "\r\n\r\n", "GET /#{"a" * 10_000} HTTP/1.1\r\n\r\n"]
      answers = requests.map { |bytes| raw(bytes) }
      assert_equal ["405 Method Not Allowed", "400 Bad Request", "400 Bad Request", "431 Request Header Fields Too Large"],
        answers.map { |text| text[%r{\AHTTP/1.1 (.*)\r}, 1] }
      assert_match(/^HTTP.* 200 OK/, raw("GET /live HTTP/1.0\n\n"), "a client that writes by hand")
    end

    test "names that aren't UTF-8 and control characters give valid JSON; a failure is a 500 with the error" do
      @vitals = {live: true, group: "\xFF\e[2J\u202E".b}
      body = get("/live").body

      assert_equal '\xFF', JSON.parse(body)["group"][0, 4]
      refute_match(/[\p{Cc}\p{Cf}]/, body)
      @vitals.define_singleton_method(:[]) { |_key| raise "\xFF\n" }
      assert_equal ["500", {"error" => 'RuntimeError: \xFF\n'}], [get("/live").code, JSON.parse(get("/live").body)]
    end

    test "a probe is answered while 600 clients are silent" do
      silent = Array.new(600) { TCPSocket.new("127.0.0.1", @page.port) }

      assert_equal "200", get("/live").code
    ensure
      silent&.each(&:close)
    end

    test "probes that are reset, silent or invalid delay nobody" do
      silent = TCPSocket.new("127.0.0.1", @page.port)
      TCPSocket.open("127.0.0.1", @page.port) { |socket| socket.write("\r\n\r\n") }
      reset = TCPSocket.new("127.0.0.1", @page.port)
      reset.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
      reset.close

      assert_equal "200", get("/live").code
    ensure
      silent&.close
    end

    test "a port that is in use is an error at the start" do
      assert_raises(Errno::EADDRINUSE) { Server::HealthPage.new("127.0.0.1", @page.port, -> {}).start(@threads) }
    end
  end
end
