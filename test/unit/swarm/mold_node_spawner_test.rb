# frozen_string_literal: true

require "test_helper"
require "support/swarms"
require "penstock/errors"
require "penstock/instrumentation/monitor"
require "penstock/swarm/mold_node_spawner"

module Penstock
  module Swarm
    # The spawner between a registry and a mold that is a double: which nodes it requests, what an answer does, and a mold's
    # end.
    class MoldNodeSpawnerTest < TestCase
      include TestSupport::Swarms

      # A mold that sends the messages that the test sets.
      class Mold
        attr_reader :pid, :asked, :words, :log
        attr_accessor :status

        def initialize(pid)
          @pid = pid
          @asked, @words, @log = [], [], []
        end

        def ios = []
        def read = (yield @words.shift until @words.empty?)
        def spawn(number, index, _ends) = @asked << [number, index]
        def ended = @status
        def kill = @log << :kill
        def close = @log << :close
        def end! = @log << :end!
      end

      class NodeSpawner < MoldNodeSpawner
        attr_reader :molds

        private

        def new_mold
          (@molds ||= []) << Swarm::MoldNodeSpawnerTest::Mold.new(500 + @molds.size)
          @molds.last
        end
      end

      Application = Struct.new(:monitor, :server_id)

      def setup
        super
        @told = []
        monitor = Instrumentation::Monitor.new
        %w[mold.forked mold.ended mold.given_up manager.before_fork manager.after_fork].each do |name|
          monitor.subscribe("swarm.#{name}") { |event| @told << [name, event[:node], event[:reason]].compact }
        end
        monitor.subscribe("error.occurred") { |event| @told << ["error", event[:error].message] }
        swarm(2)
        @handles = {}
        application = Application.new(monitor, "s")
        @spawner = NodeSpawner.new(NodeSpawner::SupervisorContext.new(application: application, registry: @registry,
          handles: @handles, policy: policy, now: -> { @now }))
      end

      def teardown
        @spawner.close
        @handles.each_value(&:close)
        super
      end

      def mold = @spawner.molds.last

      # A turn of the supervisor.
      def turn
        @spawner.tick
        @registry.decide(@now).each { |decision| @spawner.spawn(decision.index) if decision.is_a?(Registry::Fork) }
      end

      def warm
        2.times { turn }
        mold.words << Message::Warm.new(1)
        turn
      end

      def answer(pid = ::Process.pid, reason: nil, number: mold.asked.last.first)
        mold.words << Message::Spawned.new(number, pid, reason)
        turn
      end

      def told(name) = @told.select { |word, *| word == name }.map { |_word, *rest| rest }

      test "nodes are requested one after another, and counted as spawned with the answers" do
        warm
        assert_equal [[[1, 0]], %i[awaited awaited]], [mold.asked, [state(0), state(1)]]
        answer
        assert_equal [[[1, 0], [2, 1]], [:starting, :awaited]], [mold.asked, [state(0), state(1)]]
        answer
        assert_equal [%i[starting starting], [0, 1]], [[state(0), state(1)], @handles.keys]
        assert_equal [[0], [1]], told("manager.after_fork")
      end

      test "a refusal counts as a death of that node alone, and the next node is requested" do
        warm
        answer(nil, reason: "no memory (in the mold)")
        assert_equal [:exited, :awaited, 1], [state(0), state(1), entry(0).deaths]
        assert_equal [["no memory (in the mold)"]], told("error")
      end

      test "an answer to a dropped request spawns no node" do
        warm
        @spawner.stop_spawning
        answer
        assert_empty @handles
        assert_empty told("manager.after_fork")
      end

      test "a node requested from a mold that has ended is requested from the next mold; no death is counted" do
        warm
        answer
        mold.status = [nil, 9]
        turn
        assert_equal [["SIGKILL"]], told("mold.ended")
        warm
        assert_equal [2, [[3, 1]], 0], [@spawner.molds.size, mold.asked, entry(1).deaths]
        answer
        assert_equal :starting, state(1)
      end

      test "a mold that doesn't answer is killed; if it doesn't end, it is abandoned for a new one, with a warning" do
        warm
        @now += 10_000
        turn
        assert_equal [[:kill], :killed], [mold.log, @spawner.to_h[:state]]
        assert_equal @now + 5_000, @spawner.next_due
        @now += 5_000
        turn
        assert_equal %i[kill close], @spawner.molds.first.log
        assert_match(/didn't answer within 10000 ms, and it isn't gone 5000 ms after SIGKILL/, told("mold.ended").flatten.first)
        assert_equal @now + 1_000, @spawner.next_due
        @now += 1_000
        warm
        assert_equal [2, 1], [@spawner.molds.size, mold.asked.size]
      end

      test "the first mold's failure is an error of the application, a later mold's a reason" do
        2.times { turn }
        mold.words << (failed = Message::Failed.new([["swarm", "open", nil]]))
        assert_raises(ConfigurationError) { turn }
        warm
        mold.status = [0, nil]
        turn
        @now = @spawner.next_due
        turn
        mold.words << failed
        turn
        mold.status = [1, nil]
        turn
        assert_equal ["exit code 0", "swarm: open"], told("mold.ended").flatten
      end

      test "a quiet supervisor forks no mold, and its mold ends with it" do
        warm
        @registry.quiet
        @spawner.stop_spawning
        assert_equal %i[exited exited], [state(0), state(1)]
        @now += 60_000
        turn
        assert_nil @spawner.next_due
        @spawner.close
        assert_equal [:end!], mold.log
      end
    end
  end
end
