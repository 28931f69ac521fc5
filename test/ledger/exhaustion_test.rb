# frozen_string_literal: true

require "test_helper"
require "json"
require "net/http"
require "penstock/producer"
require "support/embedded_broker"
require "support/free_port"
require "support/served"

module Penstock
  # A server on a machine whose resources are exhausted: it continues with what it has, or ends with a message. A short
  # form is in test/process/exhaustion_test.rb.
  class LedgerExhaustionTest < TestCase
    include TestSupport::CommandLine
    include TestSupport::Served

    extend TestSupport::EmbeddedBroker::OnePerClass

    NOBODY = 54_321

    def server(**options) = serve("server", **options)

    # It works, or reports why it doesn't (then it keeps trying, or has ended); a stop ends it in time. Only librdkafka
    # ends differently: without a thread for a broker it aborts, with a line.
    # @return [Symbol]
    def outcome(server, payload, words)
      server.await("its end, work or words") { server.ended? || done?(server, payload) || server.log.match?(words) }
      worked = done?(server, payload)
      server.signal(:TERM) unless server.ended?
      status = server.await_end
      return :works if worked && status.exitstatus == 0

      assert_match(words, server.log)
      assert status.exited? || server.log.match?(/rdkafka.*Assertion.*thread/), "#{status.inspect}: #{server.tail}"
      :says
    end

    def done?(server, payload) = server.journal.include?("end #{payload}\n")

    def sweep(values, words)
      produce("x")
      outcomes = values.map do |value|
        FileUtils.rm_f(journal["JOURNAL"])
        outcome(yield(value), "x", words)
      end
      assert_equal %i[says works], outcomes.values_at(0, -1), outcomes.inspect
    end

    test "T34: file descriptors: with fewer than it needs a server reports it, and can be stopped" do
      sweep([10, 14, 18, 22, 26, 30, 40, 64], /Too many open files/) { |count| server(env: journal, rlimit_nofile: count) }
    end

    test "T34: file descriptors that run out affect only code that opens one; the server continues, and so do its sockets" do
      port = TestSupport::FreePort.take.first
      server = server(env: {**journal, "MORE" => <<~RUBY}, rlimit_nofile: 100)
        PenstockApp.setup { |config| config.health.port = #{port} }
        Work.prepend(Module.new do
          def act(payload)
            return super unless payload == "fds" && attempt == 1
            @held = []
            loop { @held << File.open(File::NULL) }
          rescue Errno::EMFILE
            await_release
            @held.each(&:close)
          end
        end)
      RUBY
      produce("fds")
      server.await("the end of descriptors") { Dir.children("/proc/#{server.pid}/fd").size >= 100 }
      silent = TCPSocket.new("127.0.0.1", port)
      release
      server.await("its work's end") { server.journal.include?("end fds") }
      server.await("a probe's answer") { Net::HTTP.get_response("127.0.0.1", "/live", port).code == "200" }
      assert_works(server)
    ensure
      silent&.close
    end

    # Ruby's own threads, librdkafka's and ours: about a dozen. Root has no limit, so another user runs it. It begins at
    # 6: with four rd_kafka_new 2.16.0 gets none for its main loop, and waits forever for the broker threads that it
    # created before.
    test "T34: threads: with fewer than it needs a server reports it, and ends" do
      skip "needs root and setpriv" unless ::Process.uid.zero? && system("setpriv", "--version", out: File::NULL)
      FileUtils.chmod(0o777, @dir)
      somebody = ["setpriv", "--reuid=#{NOBODY}", "--regid=#{NOBODY}", "--clear-groups"]
      sweep([6, 8, 10, 14, 18, 26], /thread/i) { |count| server(env: journal, rlimit_nproc: count, before: somebody) }
    end

    test "T34: a full disk costs lines of the log or the flight recorder's file: work continues" do
      skip "needs root" unless ::Process.uid.zero?
      full = File.join(@dir, "full")
      Dir.mkdir(full)
      mount = 'mount -t tmpfs -o size=16k none full && head -c 20000 /dev/zero >full/filler; exec "$@" >>full/log 2>&1'
      server = server(env: {**journal, "MORE" => 'PenstockApp.setup { |config| config.flight_recorder_path = "full" }'},
        before: ["unshare", "--mount", "sh", "-c", mount, "sh"])
      produce("held")
      server.await("its work") { server.journal.include?("begin held") }
      server.signal(:TTIN)
      release
      assert_works(server)
    end
  end
end
