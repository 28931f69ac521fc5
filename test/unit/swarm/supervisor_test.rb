# frozen_string_literal: true

require "test_helper"
require "logger"
require "penstock/clock"
require "penstock/config/builder"
require "penstock/instrumentation/monitor"
require "penstock/server/lifecycle"
require "penstock/swarm/supervisor"

module Penstock
  module Swarm
    # The supervisor without processes: spawned nodes are doubles.
    class SupervisorTest < TestCase
      # A node that records its signals, of which `act` may refuse one, and ends when it is stopped.
      class Handle
        attr_reader :index, :signals

        def initialize(index, act)
          @index = index
          @act = act
          @signals = []
          @end, @alive = IO.pipe
        end

        def pid = 1_000 + @index
        def ios = [@end]
        def read = nil
        def close = [@end, @alive].each(&:close)
        def ended = (@signals.include?("TERM") ? [0, nil] : nil)

        def signal(name)
          @signals << name
          @alive.close if name == "TERM"
          @act&.call(@index, name)
        end
      end

      class NodeSpawner < Swarm::NodeSpawner
        class << self
          attr_accessor :log, :prepare, :act, :failures, :troubles
        end

        def self.needs_sigchld? = false
        def prepare = self.class.prepare&.call

        def tick = self.class.troubles.shift&.then { |error| raise error }

        def spawn(index)
          raise "no fork" if self.class.failures.shift
          spawned(index, Handle.new(index, self.class.act).tap { |handle| self.class.log << handle })
        end
      end

      Application = Struct.new(:monitor, :config, :lifecycle, :logger, :server_id)

      def setup
        super
        NodeSpawner.log, NodeSpawner.failures, NodeSpawner.troubles = [], [], []
        NodeSpawner.prepare = NodeSpawner.act = nil
        @errors = []
        @input = $stdin
      end

      def teardown
        $stdin = @input
        super
      end

      def supervisor(nodes: 2, logger: Logger.new(nil), **swarm)
        builder = Config::Builder.new
        builder.record do |config|
          config.swarm.nodes = nodes
          swarm.each { |name, value| config.swarm.public_send(:"#{name}=", value) }
        end
        monitor = Instrumentation::Monitor.new
        monitor.subscribe("error.occurred") { |event| @errors << event[:error].message }
        application = Application.new(monitor, builder.settings, Server::Lifecycle.new, logger, "s")
        @monitor = monitor
        @supervisor = Supervisor.new(application, clock: Clock::SYSTEM, spawner: NodeSpawner)
      end

      # Orders that follow one another, each when the nodes exist.
      def once_born(nodes = 2)
        @monitor.subscribe("swarm.manager.after_fork") { yield if NodeSpawner.log.size == nodes }
      end

      def signals = NodeSpawner.log.map(&:signals)
      def quiet_node = Message::Healthy.new({member: true, state: "quiet"})

      test "a stop that comes before the nodes are forked ends the supervisor, with code 0 and without a fork" do
        NodeSpawner.prepare = -> { @supervisor.stop! }
        supervisor
        assert_equal 0, @supervisor.run
        assert_empty NodeSpawner.log
        supervisor.stop!
        NodeSpawner.prepare = nil
        assert_equal 0, @supervisor.run
        assert_empty NodeSpawner.log
      end

      test "a supervisor that is quieted while it warms up forks no node" do
        NodeSpawner.prepare = -> { @supervisor.quiet! && @supervisor.stop! }
        assert_equal 0, supervisor.run
        assert_empty NodeSpawner.log
      end

      test "an order that one node refuses reaches the others, and the supervisor continues" do
        NodeSpawner.act = ->(index, name) { raise Errno::EPERM if index.zero? && name != "TERM" }
        supervisor
        once_born { %i[dump! quiet! stop!].each { |order| @supervisor.public_send(order) } }

        assert_equal 0, @supervisor.run
        assert_equal [%w[TTIN TSTP TERM]] * 2, signals
        assert_equal ["Operation not permitted"] * 2, @errors
      end

      test "a logger that fails doesn't end the swarm" do
        logger = Object.new
        def logger.warn(*) = raise("full disk")
        supervisor(logger: logger)
        once_born { %i[dump! stop!].each { |order| @supervisor.public_send(order) } }

        assert_equal 0, @supervisor.run
        assert_equal ["full disk"], @errors
        assert_equal [%w[TTIN TERM]] * 2, signals
      end

      test "a node that can't be forked, for any reason, is forked later, like one that died at boot" do
        NodeSpawner.failures = [true]
        supervisor(nodes: 1, restart_backoff: 1)
        once_born(1) { @supervisor.stop! }

        assert_equal 0, @supervisor.run
        assert_equal [["no fork"], 1], [@errors, NodeSpawner.log.size]
      end

      # The kernel sends HUP when the terminal is gone: by then stdin isn't one any more.
      Terminal = Struct.new(:answer) do
        def tty? = (answer == :closed) ? raise(IOError, "closed stream") : answer
      end

      test "HUP where there was a terminal at the start is a stop" do
        $stdin = Terminal.new(true)
        supervisor
        once_born do
          $stdin.answer = false
          received("HUP")
        end

        assert_equal 0, @supervisor.run
        assert_equal [%w[TERM]] * 2, signals
      end

      test "HUP without a terminal, also where stdin is closed, is a rolling restart" do
        [false, :closed].each do |answer|
          $stdin = Terminal.new(answer)
          NodeSpawner.log = []
          supervisor
          once_born { received("HUP") && look_for_a_restart }
          assert_equal 0, @supervisor.run
          assert_equal [[true], []], [@rolling, @errors]
        end
      end

      test "[TSTP quiet] the state of a supervisor is quiet when its nodes have reported theirs" do
        supervisor
        seen = Thread::Queue.new
        once_born do
          @supervisor.quiet!
          NodeSpawner.log.each { |handle| @supervisor.registry.received(handle.index, quiet_node, Clock::SYSTEM.monotonic_ms) }
        end
        lifecycle = @supervisor.instance_variable_get(:@application).lifecycle
        lifecycle.instance_variable_set(:@announce, ->(state) { seen << state && (@supervisor.stop! if state == :quiet) })
        assert_equal 0, @supervisor.run
        assert_equal %i[quieting quiet stopping], Array.new(seen.size) { seen.pop }
      end

      test "a restart is reported when it begins, not when its signal comes: not in a quiet swarm, not after a stop" do
        {restart!: 1, quiet!: 0, stop!: 0}.each do |first, told|
          NodeSpawner.log = []
          supervisor
          restarts = []
          @monitor.subscribe("swarm.manager.restarting") { |event| restarts << event[:count] }
          once_born { [first, *(:restart! if told.zero?), :stop!].each { |order| @supervisor.public_send(order) } }

          assert_equal 0, @supervisor.run
          assert_equal [2] * told, restarts
        end
      end

      test "an error while spawning, except a ConfigurationError, doesn't end the swarm" do
        NodeSpawner.troubles = [RuntimeError.new("no mold"), KeyError.new("nil")]
        supervisor
        once_born { @supervisor.stop! }

        assert_equal 0, @supervisor.run
        assert_equal ["no mold", "nil"], @errors
        NodeSpawner.troubles = [ConfigurationError.new("wrong")]
        assert_raises(ConfigurationError) { supervisor.run }
      end

      def received(name) = @supervisor.instance_variable_get(:@signals).post(name)

      # The stop that follows ends it again.
      def look_for_a_restart
        @rolling = []
        @monitor.subscribe("process.notice_signal") do |event|
          @rolling << @supervisor.vitals[:rolling] if event[:signal] == :TERM
        end
        @supervisor.stop!
      end

      test "USR1, which log rotation may send to every process, does nothing" do
        supervisor
        once_born { received("USR1") && @supervisor.stop! }

        assert_equal 0, @supervisor.run
        assert_equal [%w[TERM]] * 2, signals
      end
    end
  end
end
