# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/free_port"
require "support/probing"
require "support/served"
require "support/slow_clients"

module Penstock
  # A server's control socket and health page with clients that misbehave, and without free descriptors.
  #
  # `PENSTOCK_SLOW_REQUESTS=10000` makes the first test long: that many requests on each, and no probe may take longer than
  # 100 ms, which takes a machine with nothing else to do. Without it a short form runs that leaves room for a busy machine.
  class SlowClientsTest < TestCase
    include TestSupport::CommandLine
    include TestSupport::Served

    extend TestSupport::EmbeddedBroker::OnePerClass

    CLIENTS = 500
    REQUESTS = Integer(ENV.fetch("PENSTOCK_SLOW_REQUESTS", "1500"))
    LONG = ENV.key?("PENSTOCK_SLOW_REQUESTS")
    LIMIT_MS = 100
    HTTP = "GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: kube-probe/1.33\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    STATUS = %({"command": "status"}\n)

    # @param more [String] code of its boot file
    def server(more = "", **options)
      @port = TestSupport::FreePort.take.first
      more = "PenstockApp.setup { |config| config.health.port = #{@port} }\n#{more}"
      serve("server", env: {**journal, "PENSTOCK_RUN_DIR" => @dir, "MORE" => more}, **options).tap do |server|
        server.await("its health page") { get.match?(/"ready":true/) }
      end
    end

    # @return [String] the page, or nothing
    def get
      TCPSocket.open("127.0.0.1", @port) { |socket| socket.write(HTTP) && socket.read }
    rescue SystemCallError
      ""
    end

    def control_path(server) = File.join(@dir, "penstock-#{::Process.uid}", "#{server.pid}.sock")

    def page_probes = TestSupport::Probing.new(HTTP, %r{\AHTTP/1.1 200 OK.*"live":true}m) { TCPSocket.new("127.0.0.1", @port) }

    def control_probes(server)
      TestSupport::Probing.new(STATUS, /"ok":true.*"live":true/) { UNIXSocket.new(control_path(server)) }
    end

    def descriptors(server) = Dir.children("/proc/#{server.pid}/fd").size

    # @return [Array<String>] names
    def threads(server) = Dir["/proc/#{server.pid}/task/*/comm"].map { |path| File.read(path).chomp }

    # @return [Float] seconds of processor time it has used
    def cpu_s(server) = File.read("/proc/#{server.pid}/stat").split.values_at(13, 14).sum { |ticks| Integer(ticks) } / 100.0

    test "500 slow clients, by the thousand requests, delay no probe, neither on the health page nor on the control socket" do
      server = server()
      before = descriptors(server)
      [["health page", @port, HTTP, page_probes], ["control socket", control_path(server), STATUS, control_probes(server)]]
        .each do |name, path, request, probes|
          counts = TestSupport::SlowClients.run(path, request, clients: CLIENTS, requests: REQUESTS) { probes.call }
          warn "#{name}: #{counts}; #{probes}" if LONG

          assert_operator counts[:requests], :>=, REQUESTS
          assert_operator probes.times.size, :>, 20
          assert_empty probes.failures, name
          limit = LONG ? LIMIT_MS : LIMIT_MS * TestSupport::Wait.busy
          assert_operator probes.percentile(LONG ? 1.0 : 0.95), :<=, limit, "#{name}: #{probes}"
          server.await("the end of their connections") { descriptors(server) <= before + 2 }
        end
      assert_works(server)
    end

    test "a server without a free descriptor answers probes and commands, and doesn't spin" do
      server = server(<<~RUBY, rlimit_nofile: 100)
        Work.prepend(Module.new do
          def act(payload)
            return super unless payload == "fds"
            held = []
            loop { held << File.open(File::NULL) }
          rescue Errno::EMFILE
            Thread.current.name = "holds all"
            await_release
            held.each(&:close)
          end
        end)
      RUBY
      produce("fds")
      server.await("the end of descriptors") { threads(server).include?("holds all") }
      silent = Array.new(200) { TCPSocket.new("127.0.0.1", @port) }
      began = cpu_s(server)
      observe_for(1)

      assert_operator cpu_s(server) - began, :<, 0.5, "seconds of processor time in one"
      [page_probes, control_probes(server)].each do |probes|
        probes.call
        assert_empty probes.failures
      end
      release
      assert_works(server)
    ensure
      silent&.each(&:close)
    end

    test "a server with more than 1,024 descriptors open answers probes and commands" do
      hard = ::Process.getrlimit(:NOFILE).last
      skip "the limit of descriptors can't be raised here (#{hard})" if hard < 2_000
      server = server("HELD = Array.new(1_100) { File.open(File::NULL) }", rlimit_nofile: [2_000, hard])
      [page_probes, control_probes(server)].each do |probes|
        probes.call
        assert_empty probes.failures
      end
      assert_works(server)
    end

    test "rubbish, endless lines and half requests on the control socket have no effect: status and stop are answered" do
      server = server()
      ["\xFF\xFE\n", "\0" * 5_000, "{", "\n\n\n", "{}" * 3_000].each do |bytes|
        UNIXSocket.open(control_path(server)) do |socket|
          socket.write(bytes)
        rescue Errno::EPIPE # the server has read enough
          nil
        end
      end
      env = {"PENSTOCK_RUN_DIR" => @dir}

      assert_match(/^ *#{server.pid} +server +running +yes +yes/, penstock("status", env: env).out)
      stop = penstock("stop", "--pid", server.pid.to_s, env: env)
      assert_equal "process #{server.pid} stops\n", stop.out.sub(/ stops.*/, " stops")
      assert_equal 0, server.code, server.tail
    end
  end
end
