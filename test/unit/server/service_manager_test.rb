# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "penstock/instrumentation/monitor"
require "penstock/server/service_manager"
require "penstock/runtime/threads"

module Penstock
  class ServiceManagerTest < TestCase
    def setup
      super
      @folder = Dir.mktmpdir("penstock-notify")
      @vitals = {live: true, ready: true}
      @monitor = Instrumentation::Monitor.new
      @threads = Runtime::Threads.new(->(_name, error) { raise error })
      @complaints = []
    end

    def teardown
      @manager&.close
      wait_until(20) { @threads.living.empty? }
      @socket&.close
      FileUtils.remove_entry(@folder)
      super
    end

    # systemd's end of the socket.
    def listen(name = File.join(@folder, "notify"))
      @socket = Socket.new(:UNIX, :DGRAM)
      @socket.bind(Addrinfo.unix(name.sub(/\A@/, "\0"), :DGRAM))
      name
    end

    def manager(address, **env)
      env = {"NOTIFY_SOCKET" => address, **env.to_h { |name, value| [name.to_s, value.to_s] }}
      @manager = Server::ServiceManager.from(env, vitals: -> { @vitals }, warn: ->(text) { @complaints << text })
      @manager.start(@threads, @monitor)
    end

    def heard
      assert @socket.wait_readable(20 * TestSupport::Wait::TIME_FACTOR), "nothing was sent"
      @socket.recvfrom(4_096).first.lines(chomp: true)
    end

    def silence(seconds = 0.1) = @socket.wait_readable(seconds).nil?

    def state(name) = @monitor.instrument("app.#{name}", {server_id: "x"})

    test "a running process reports ready once; a stopping one reports that it stops" do
      manager(listen)
      assert silence
      2.times { state(:running) }
      state(:quieting)
      state(:stopping)

      assert_equal [%w[READY=1 STATUS=running], ["STATUS=takes no new work"], %w[STOPPING=1 STATUS=stops]], Array.new(3) { heard }
      assert silence
    end

    test "a process that stops before it ran isn't ready any more" do
      manager(listen)
      state(:stopping)
      %i[running quieting].each { |name| state(name) }

      assert_equal %w[STOPPING=1 STATUS=stops], heard
      assert silence
    end

    test "abstract sockets are supported too" do
      manager(listen("@penstock-#{::Process.pid}-#{rand(1 << 40)}"))
      state(:running)

      assert_includes heard, "READY=1"
    end

    test "a sign of life is sent twice per interval, but not while the vitals aren't live" do
      manager(listen, WATCHDOG_USEC: 100_000, WATCHDOG_PID: ::Process.pid)
      assert_equal [["WATCHDOG=1"]] * 3, Array.new(3) { heard }
      @vitals = {live: false}
      wait_until(20, "silence") { silence(0.3) || !heard }
      @vitals = {live: true}

      assert_equal ["WATCHDOG=1"], heard
    end

    test "a watchdog for another process, or none, gets nothing" do
      manager(listen, WATCHDOG_USEC: 20_000, WATCHDOG_PID: ::Process.pid + 1)

      assert silence(0.2)
    end

    def restarted = @monitor.instrument("swarm.manager.restarting", {count: 2})

    def forked = @monitor.instrument("swarm.manager.after_fork", {node: 0, pid: 1})

    test "a rolling restart is a reload until it ends, whether all nodes are ready by then or not" do
      manager(listen)
      forked
      assert_includes heard, "READY=1"
      @vitals = {live: true, ready: false, rolling: true}
      restarted
      assert_match(/\ARELOADING=1 MONOTONIC_USEC=\d+ /, heard.join(" "))
      assert silence
      @vitals = {live: true, ready: false, rolling: false}

      assert_equal %w[READY=1 STATUS=running], heard
      assert silence
    end

    test "a restart before the first node is forked replaces nothing, and a signal alone is not a restart" do
      manager(listen)
      restarted
      %i[USR2 HUP].each { |name| @monitor.instrument("process.notice_signal", {signal: name}) }

      assert silence
    end

    test "a restart ended by quiet is complete, and the status doesn't change" do
      manager(listen)
      forked
      @vitals = {live: true, rolling: true}
      restarted
      state(:quieting)
      @vitals = {live: true, rolling: false}
      words = Array.new(4) { heard }

      assert_equal [["READY=1", "STATUS=running"], ["STATUS=takes no new work"], ["READY=1", "STATUS=takes no new work"]],
        words.values_at(0, 2, 3)
    end

    test "a failure costs one sign of life and is a line in the log: the thread continues" do
      failures = [true, true]
      vitals = -> { failures.shift ? raise("once") : {live: true} }
      address = listen
      @manager = Server::ServiceManager.new(address, vitals: vitals, warn: ->(text) { @complaints << text },
        watchdog_us: 40_000).start(@threads, @monitor)

      assert_equal [["WATCHDOG=1"]] * 2, Array.new(2) { heard }
      assert_equal 1, @complaints.size
      assert_match(/RuntimeError: once/, @complaints.first)
    end

    test "neither a missing manager nor a failing logger prevents the start" do
      @manager = Server::ServiceManager.new(File.join(@folder, "nobody"), vitals: -> { raise "no vitals" },
        warn: ->(_text) { raise IOError, "no log" }, watchdog_us: 20_000)

      assert_same @manager, @manager.start(@threads, @monitor)
      3.times { state(:running) }
      assert_equal 1, @threads.living.size
    end

    # Another of the manager's services.
    def fill
      count = 0
      Socket.new(:UNIX, :DGRAM).tap do |other|
        other.connect(@socket.local_address)
        count += 1 until other.sendmsg_nonblock("x", exception: false) == :wait_writable
        other.close
      end
      count
    end

    test "messages for which the manager has no room are sent later, in order, and the sender doesn't wait" do
      manager(listen)
      crowd = fill
      forked
      @vitals = {live: true, rolling: true}
      2.times { restarted }
      state(:stopping)

      assert_equal [["x"]] * crowd, Array.new(crowd) { heard }
      words = Array.new(3) { heard.first }
      assert_equal %w[READY=1 RELOADING=1 STOPPING=1], words
      assert silence
      assert_empty @complaints
    end

    test "the last message of an ending process is sent if the manager reads within a second" do
      manager(listen)
      crowd = fill
      state(:stopping)
      reader = Thread.new { Array.new(crowd + 1) { heard.first } }
      @manager.close

      assert_equal "STOPPING=1", reader.value.last
    end

    test "a manager that reads nothing delays only the end, by one second" do
      manager(listen)
      fill
      %i[running stopping].each { |name| state(name) }
      @manager.close

      assert_equal ["x"], heard
      assert_empty @complaints
    end

    test "a missing manager delays nothing and is reported in the log" do
      manager(File.join(@folder, "nobody"))
      3.times { state(:running) }

      assert_equal 1, @complaints.size
      assert_match(/NOTIFY_SOCKET=.*nobody.*No such file/, @complaints.first)
    end

    test "a vanished manager is reported once" do
      manager(listen)
      @socket.close
      %i[running quieting stopping].each { |name| state(name) }

      assert_equal 1, @complaints.size
    end

    test "a child of a fork sends nothing" do
      manager(listen)
      pid = fork do
        state(:running)
        exit!(0)
      end
      ::Process.wait(pid)

      assert silence
      state(:running)
      assert_includes heard, "READY=1"
    end
  end
end
