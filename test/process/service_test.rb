# frozen_string_literal: true

require "test_helper"
require "socket"
require "penstock/producer"
require "support/embedded_broker"
require "support/served"

module Penstock
  # Notifications to systemd, by real processes over a real socket.
  class ServiceTest < TestCase
    include TestSupport::CommandLine
    include TestSupport::Served

    extend TestSupport::EmbeddedBroker::OnePerClass

    def setup
      super
      @heard = []
      @socket = Socket.new(:UNIX, :DGRAM)
    end

    def teardown
      super
      @socket.close
    end

    # @return [Hash] the variables that systemd puts into the environment
    def notified(address, **more)
      @socket.bind(Addrinfo.unix(address.sub(/\A@/, "\0"), :DGRAM))
      {"NOTIFY_SOCKET" => address, **more.to_h { |name, value| [name.to_s, value] }}
    end

    # @return [Array<String>] all lines so far
    def heard
      while (message = @socket.recvfrom_nonblock(4_096, exception: false)) != :wait_readable
        @heard.concat(message.first.lines(chomp: true))
      end
      @heard
    end

    def states = heard.grep(/\A(?:READY|RELOADING|STOPPING)=/)

    test "a server notifies that it runs and stops, and sends keep-alives in between" do
      server = serve("server", env: notified(File.join(@dir, "notify"), WATCHDOG_USEC: 200_000))
      server.await("three signs of life") { heard.count("WATCHDOG=1") >= 3 && states.any? }
      assert_equal %w[READY=1], states
      server.signal(:TERM)
      # Reads, as a service manager does.
      server.await("its end") { heard && server.ended? }

      assert_equal 0, server.code, server.tail
      assert_equal %w[READY=1 STOPPING=1], states
    end

    test "a process that is stopped sends no keep-alive" do
      server = serve("server", env: notified("@#{File.basename(@dir)}", WATCHDOG_USEC: 200_000))
      server.await("signs of life") { heard.include?("WATCHDOG=1") }
      server.signal(:STOP)
      server.await("its stop") { stopped?(server.pid) }
      before = heard.size
      observe_for(0.5)

      assert_equal before, heard.size
      server.signal(:CONT)
      server.await("a sign of life") { heard.size > before }
    end

    # All its threads are stopped: the kernel stops one after another.
    def stopped?(pid)
      Dir.glob("/proc/#{pid}/task/*/stat").all? { |path| File.read(path)[/\) (\w)/, 1] == "T" }
    rescue SystemCallError # one that has just ended
      false
    end

    test "in a swarm only the supervisor notifies: it runs, replaces its nodes, runs again, stops" do
      swarm = serve("swarm", "--nodes", "2", env: notified(File.join(@dir, "notify")).merge("ASSIGN" => nil))
      swarm.await("a swarm that runs") { states.any? && swarm.log.scan(" running (pid").size == 2 }
      swarm.signal(:USR2)
      swarm.await("the end of the reload") { states.last(2) == ["RELOADING=1", "READY=1"] }
      assert_equal 4, swarm.log.scan(": forked (pid").size, swarm.tail
      swarm.signal(:TERM)

      assert_equal 0, swarm.code, swarm.tail
      assert_equal %w[READY=1 RELOADING=1 READY=1 STOPPING=1], states
    end

    test "a process that can't start is never ready" do
      wrong = {"MORE" => "PenstockApp.setup { |config| config.client_id = nil }"}
      server = serve("server", env: notified(File.join(@dir, "notify")).merge(wrong))

      assert_equal 1, server.code
      assert_empty heard
    end

    test "if nobody listens on the notify socket the server runs all the same, and logs it" do
      server = serve("server", env: {"NOTIFY_SOCKET" => File.join(@dir, "nobody")})
      server.await_log(/the service manager \(NOTIFY_SOCKET=.*nobody\) can't be reached/)
      server.await_log(/ running \(pid/)
      server.signal(:TERM)

      assert_equal 0, server.code, server.tail
    end
  end
end
