# frozen_string_literal: true

require "test_helper"
require "support/swarms"
require "penstock/errors"
require "penstock/instrumentation/monitor"
require "penstock/swarm/mold_births"

module Penstock
  module Swarm
    # Between a registry and a mold that is a double: who is asked for, what an answer does, and a mold's end.
    class MoldBirthsTest < TestCase
      include TestSupport::Swarms

      # A mold that says what the test says.
      class Mold
        attr_reader :pid, :asked, :words, :log
        attr_accessor :status

        def initialize(pid)
          @pid = pid
          @asked, @words, @log = [], [], []
        end

        def ios = []
        def read = (yield @words.shift until @words.empty?)
        def bear(number, index, _ends) = @asked << [number, index]
        def ended = @status
        def kill = @log << :kill
        def close = @log << :close
        def end! = @log << :end!
      end

      class Births < MoldBirths
        attr_reader :molds

        private

        def new_mold
          (@molds ||= []) << Swarm::MoldBirthsTest::Mold.new(500 + @molds.size)
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
        @births = Births.new(Births::Household.new(application: Application.new(monitor, "s"), registry: @registry,
          handles: @handles, policy: policy, now: -> { @now }))
      end

      def teardown
        @births.close
        @handles.each_value(&:close)
        super
      end

      def mold = @births.molds.last

      # A turn of the supervisor.
      def turn
        @births.turn
        @registry.decide(@now).each { |decision| @births.bear(decision.index) if decision.is_a?(Registry::Fork) }
      end

      def warm
        2.times { turn }
        mold.words << Message::Warm.new(1)
        turn
      end

      def answer(pid = ::Process.pid, reason: nil, number: mold.asked.last.first)
        mold.words << Message::Born.new(number, pid, reason)
        turn
      end

      def told(name) = @told.select { |word, *| word == name }.map { |_word, *rest| rest }

      test "nodes are asked for one after another, and born with the answers" do
        warm
        assert_equal [[[1, 0]], %i[awaited awaited]], [mold.asked, [state(0), state(1)]]
        answer
        assert_equal [[[1, 0], [2, 1]], [:starting, :awaited]], [mold.asked, [state(0), state(1)]]
        answer
        assert_equal [%i[starting starting], [0, 1]], [[state(0), state(1)], @handles.keys]
        assert_equal [[0], [1]], told("manager.after_fork")
      end

      test "a refusal is a death of that node alone, and the next is asked for" do
        warm
        answer(nil, reason: "no memory (in the mold)")
        assert_equal [:exited, :awaited, 1], [state(0), state(1), entry(0).deaths]
        assert_equal [["no memory (in the mold)"]], told("error")
      end

      test "an answer to a request that was given up bears nobody" do
        warm
        @births.cease
        answer
        assert_empty @handles
        assert_empty told("manager.after_fork")
      end

      test "of a mold that has ended the node that was asked for is asked of the next one; no death is counted" do
        warm
        answer
        mold.status = [nil, 9]
        turn
        assert_equal [["SIGKILL"]], told("mold.ended")
        warm
        assert_equal [2, [[3, 1]], 0], [@births.molds.size, mold.asked, entry(1).deaths]
        answer
        assert_equal :starting, state(1)
      end

      test "a mold that doesn't answer is killed; one that doesn't end of that is given up for a new one, with a warning" do
        warm
        @now += 10_000
        turn
        assert_equal [[:kill], :killed], [mold.log, @births.to_h[:state]]
        assert_equal @now + 5_000, @births.next_due
        @now += 5_000
        turn
        assert_equal %i[kill close], @births.molds.first.log
        assert_match(/didn't answer within 10000 ms, and it isn't gone 5000 ms after SIGKILL/, told("mold.ended").flatten.first)
        assert_equal @now + 1_000, @births.next_due
        @now += 1_000
        warm
        assert_equal [2, 1], [@births.molds.size, mold.asked.size]
      end

      test "the first mold's failure is the application's, a later one's a reason" do
        2.times { turn }
        mold.words << (failed = Message::Failed.new([["swarm", "open", nil]]))
        assert_raises(ConfigurationError) { turn }
        warm
        mold.status = [0, nil]
        turn
        @now = @births.next_due
        turn
        mold.words << failed
        turn
        mold.status = [1, nil]
        turn
        assert_equal ["exit code 0", "swarm: open"], told("mold.ended").flatten
      end

      test "at rest no mold is made, and the one there is ends with the supervisor" do
        warm
        @registry.quiet
        @births.cease
        assert_equal %i[exited exited], [state(0), state(1)]
        @now += 60_000
        turn
        assert_nil @births.next_due
        @births.close
        assert_equal [:end!], mold.log
      end
    end
  end
end
