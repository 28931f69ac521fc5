# frozen_string_literal: true

require "test_helper"
require "json"
require "net/http"
require "penstock/process/health_page"
require "penstock/runtime/threads"

module Penstock
  class HealthPageTest < TestCase
    def setup
      super
      @vitals = {live: true, ready: false, state: "running"}
      @threads = Runtime::Threads.new(->(_name, error) { raise error })
      @page = ServerProcess::HealthPage.new("127.0.0.1", 0, -> { @vitals }).start(@threads)
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

    test "[swarm liveness probe] what isn't live any more is 503" do
      @vitals = {live: false, ready: false, reason: "a poll loop stands still"}

      assert_equal %w[503 503 200], %w[/live /ready /health].map { |path| get(path).code }
      assert_match(/stands still/, get("/live").body)
    end

    test "another path is 404 and says what there is" do
      answer = get("/metrics")

      assert_equal "404", answer.code
      assert_match(%r{/live, /ready, /health}, answer.body)
    end

    test "probes that are reset, silent or nonsense hold up nobody" do
      silent = TCPSocket.new("127.0.0.1", @page.port)
      TCPSocket.open("127.0.0.1", @page.port) { |socket| socket.write("\r\n\r\n") }
      reset = TCPSocket.new("127.0.0.1", @page.port)
      reset.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
      reset.close

      assert_equal "200", get("/live").code
    ensure
      silent&.close
    end

    test "a port that is taken is an error at the start" do
      assert_raises(Errno::EADDRINUSE) { ServerProcess::HealthPage.new("127.0.0.1", @page.port, -> {}).start(@threads) }
    end
  end
end
