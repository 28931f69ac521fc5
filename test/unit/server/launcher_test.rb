# frozen_string_literal: true

require "test_helper"
require "logger"
require "stringio"
require "penstock/clock"
require "penstock/instrumentation/monitor"
require "penstock/server/lifecycle"
require "penstock/server/launcher"
require "penstock/runtime/threads"

module Penstock
  class LauncherTest < TestCase
    # A poll loop that ends when it is asked to, or never.
    class Loop
      Group = Struct.new(:id)
      attr_reader :orders, :forced, :interrupted_units

      def initialize(stubborn: false, stage: nil, interrupted: [])
        @stubborn = stubborn
        @interrupted_units = interrupted
        @stage = stage
        @orders = Thread::Queue.new
        @forced = stubborn || interrupted.any?
      end

      def group = Group.new("g")
      def finished? = @finished || false
      def cut_short? = false
      def snapshot = {stage: @stage}

      def quiet(&became_quiet)
        @became_quiet = became_quiet
        @orders << :quiet
      end

      def become_quiet = @became_quiet.call
      def told_quiet? = !@became_quiet.nil?
      def stop(deadline) = @orders << deadline

      def run
        loop { break if @orders.pop.is_a?(Deadline) && !@stubborn }
        @finished = true
      end
    end

    # Only the methods of a host that a server uses.
    class Host
      Settings = Struct.new(:shutdown_timeout, :lock_metrics)
      attr_reader :monitor, :threads, :closed, :log_lines

      def initialize(timeout)
        @timeout = timeout
        @monitor = Instrumentation::Monitor.new
        @threads = Runtime::Threads.new(->(_name, _error) {})
        @log_lines = []
      end

      def settings = Settings.new(@timeout)
      def worker_count = 2
      def clock = Clock::SYSTEM
      def reporter = self
      def emit(name, payload) = monitor.instrument(name, payload)
      def stopping! = nil
      def log(_level, line) = @log_lines << line
      def dump_flight(reason, _loops) = @log_lines << "flight recorder: #{reason}"
      def pool = self
      def running = []
      def close_workers(_timeout) = @closed = true
      def close_reporter(_timeout) = nil
    end

    # Signals without traps: the test posts them.
    class NoTraps
      def trap(*) = nil
    end

    def server(loops, timeout: 2_000, exits: [])
      @host = Host.new(timeout)
      @lifecycle = Server::Lifecycle.new
      @signals = Server::Signals.new(NoTraps.new)
      Server::Launcher.new(host: @host, loops: loops, lifecycle: @lifecycle, signals: @signals, close_producer: ->(_ms) {},
        exit_now: ->(code) { exits << code })
    end

    def run_in_thread(server) = Thread.new { server.run(traps: false) }

    test "[TERM clean stop] a stop ends all loops and returns 0" do
      server = server([Loop.new, Loop.new])
      thread = run_in_thread(server)
      wait_until { @lifecycle.running? }
      server.stop!
      assert_equal 0, thread.value
      assert_equal [:terminated, true], [@lifecycle.state, @host.closed]
    end

    test "[TSTP quiet] quiet reaches the loops and the process continues" do
      poll_loop = Loop.new
      server = server([poll_loop])
      thread = run_in_thread(server)
      wait_until { @lifecycle.running? }
      server.quiet!
      wait_until { @lifecycle.quieting? }
      assert thread.alive?
      server.stop!
      assert_equal 0, thread.value
    end

    test "[TSTP quiet] the state is quiet when nothing of any loop runs any more, also where a connection is removed meanwhile" do
      first, second, leaving = loops = Array.new(3) { Loop.new }
      gate = Thread::Queue.new
      leaving.define_singleton_method(:run) { gate.pop }
      server = server(loops)
      thread = run_in_thread(server)
      wait_until { @lifecycle.running? }
      @signals.post(Runtime::Multiplexer::Change.new(:down, leaving))
      server.quiet!
      wait_until { loops.all?(&:told_quiet?) }
      first.become_quiet
      second.become_quiet
      assert_predicate @lifecycle, :quieting?
      gate << nil
      wait_until { @lifecycle.quiet? }
      assert thread.alive?
      server.stop!
      assert_equal [0, :terminated], [thread.value, @lifecycle.state]
    end

    test "the main thread closes the breakers on request, and health lists open ones" do
      closed = Thread::Queue.new
      breakers = Struct.new(:queue) do
        def close_by_hand = queue << Thread.current
        def open = [{topics: ["orders"], cause: "KeyError", held_ms: 5, left_ms: nil}]
      end
      server = server([Loop.new])
      @host.define_singleton_method(:breakers) { breakers.new(closed) }
      thread = run_in_thread(server)
      server.close_breakers!
      assert_same thread, closed.pop
      health = Server::Health.new(:running, [], 0, nil, @host.breakers.open).to_h
      assert_equal [["orders"]], health[:breakers].map { |one| one[:topics] }
      refute_includes Server::Health.new(:running, [], 0, nil).to_h, :breakers
    ensure
      server&.stop!
      thread&.join
    end

    test "[sub-second shutdown_timeout] a loop that doesn't end is waited for until the deadline, then the code is 2" do
      started = Clock::SYSTEM.monotonic_ms
      server = server([Loop.new(stubborn: true)], timeout: 200)
      errors = []
      @host.monitor.subscribe("error.occurred") { |event| errors << event[:type] }
      thread = run_in_thread(server)
      wait_until { @lifecycle.running? }
      server.stop!
      assert_equal 2, thread.value
      assert_operator Clock::SYSTEM.monotonic_ms - started, :>=, 200
      assert_includes errors, "app.stopping.error"
    ensure
      @host.threads.living.each(&:kill).each(&:join)
    end

    test "a stop that had to interrupt a job ends with code 2 and names it, though the job has ended since" do
      place = Struct.new(:topic_name, :partition).new("orders", 3)
      unit = Struct.new(:lane, :messages) { def consume? = true }
      range = Struct.new(:first_offset, :last_offset)
      server = server([Loop.new(interrupted: [unit.new(place, range.new(7, 9))])])
      errors = []
      @host.monitor.subscribe("error.occurred") { |event| errors << event[:error].message }
      thread = run_in_thread(server)
      wait_until { @lifecycle.running? }
      server.stop!

      assert_equal 2, thread.value
      assert_equal ["shutdown_timeout was too short: 1 jobs still ran and had to be interrupted: orders/3 " \
        "offsets 7..9. #{WAY_OUT}"], errors
    end

    WAY_OUT = "Records without a commit run again. Set shutdown_timeout longer than the longest call, or let calls check " \
      "`stopping?`"

    test "a stop that exceeded its time reports what every poll loop was doing if no job ran" do
      server = server([Loop.new(stubborn: true, stage: :committing), Loop.new(stubborn: true)], timeout: 200)
      errors = []
      @host.monitor.subscribe("error.occurred") { |event| errors << event[:error].message }
      thread = run_in_thread(server)
      wait_until { @lifecycle.running? }
      server.stop!

      assert_equal 2, thread.value
      assert_equal ["shutdown_timeout was too short: the poll loop of g still committed its last offsets; " \
        "the poll loop of g still closed its connection. #{WAY_OUT}"], errors
    ensure
      @host.threads.living.each(&:kill).each(&:join)
    end

    test "[swarm orphan] without its supervisor a server stops within 3.5 s, even after several stop signals, with code 3" do
      server = server([poll_loop = Loop.new], timeout: 60_000)
      thread = run_in_thread(server)
      wait_until { @lifecycle.running? }
      2.times { server.stop! }
      server.orphaned!

      assert_equal 3, thread.value
      deadlines = Array.new(poll_loop.orders.size) { poll_loop.orders.pop.remaining_ms }
      assert deadlines.all? { |left| left <= 5_000 }, deadlines.inspect
    end

    test "the third stop signal ends the process at once with code 2" do
      exits = []
      server = server([Loop.new(stubborn: true)], timeout: 300, exits: exits)
      thread = run_in_thread(server)
      wait_until { @lifecycle.running? }
      3.times { server.stop! }
      thread.join
      assert_equal [2], exits
    ensure
      @host.threads.living.each(&:kill).each(&:join)
    end

    test "[critical error] an error that concerns the process stops it once, even if it is reported several times" do
      server = server([Loop.new])
      types = []
      @host.monitor.subscribe("error.occurred") { |event| types << event[:type] }
      thread = run_in_thread(server)
      wait_until { @lifecycle.running? }
      3.times { server.stop!(NoMemoryError.new("no")) }
      assert_equal 0, thread.value
      assert_equal ["app.critical.error"], types
    end

    # The member id, the transactional.id: restarted, the two would stop each other in turn.
    {"static member id" => [82, "FENCED_INSTANCE_ID"], "transactional.id" => [-144, "_FENCED"]}.each do |id, (number, name)|
      test "a process whose #{id} another one uses stops with the code of an invalid configuration" do
        server = server([Loop.new])
        thread = run_in_thread(server)
        wait_until { @lifecycle.running? }
        server.stop!(KafkaError.build(number: number, name: name, fatal: true))
        assert_equal 1, thread.value
      end
    end

    test "loops are added and removed while the process runs, and a stop ends the current ones" do
      first, second = Loop.new, Loop.new
      server = server([first])
      thread = run_in_thread(server)
      wait_until { @lifecycle.running? }
      @signals.post(Runtime::Multiplexer::Change.new(:up, second))
      wait_until { server.snapshot.size == 2 }
      @signals.post(Runtime::Multiplexer::Change.new(:down, first))
      wait_until { server.snapshot.size == 1 }
      assert thread.alive?
      assert_equal [true, nil], [first.finished?, second.finished? || nil]
      server.stop!
      assert_equal [0, true], [thread.value, second.finished?]
      assert_equal 0, second.orders.size
    end

    test "a loop requested while the process becomes quiet isn't started" do
      late = Loop.new
      server = server([Loop.new])
      thread = run_in_thread(server)
      wait_until { @lifecycle.running? }
      server.quiet!
      @signals.post(Runtime::Multiplexer::Change.new(:up, late))
      server.stop!
      assert_equal [0, false], [thread.value, late.finished?]
    end

    test "[TTIN] a dump names every thread" do
      server = server([Loop.new])
      thread = run_in_thread(server)
      wait_until { @lifecycle.running? }
      @signals.post("TTIN")
      wait_until { @host.log_lines.any? { |line| line.include?("penstock g") } }
      server.stop!
      assert_equal 0, thread.value
    end

    test "a loop that dies of any error ends the process with code 70, the others stop in order" do
      broken = Loop.new
      broken.define_singleton_method(:run) { Thread.current.kill }
      thread = run_in_thread(server([broken, Loop.new]))
      assert_equal 70, thread.value
    end

    test "[one-way states] a state that was left is never entered again" do
      lifecycle = Server::Lifecycle.new
      assert lifecycle.enter(:stopped)
      refute lifecycle.enter(:running)
      assert lifecycle.stopped?
    end

    test "[prior traps kept] an earlier trap is called too and restored" do
      called = []
      previous = ->(*) { called << :earlier }
      installed = {}
      traps = Object.new
      traps.define_singleton_method(:trap) do |name, handler = nil, &block|
        old = installed[name] || previous
        installed[name] = handler || block
        old
      end
      signals = Server::Signals.new(traps)
      signals.install
      installed["TERM"].call
      assert_equal ["TERM", [:earlier]], [signals.wait, called]
      signals.restore
      assert_same previous, installed["TERM"]
    end
  end
end
