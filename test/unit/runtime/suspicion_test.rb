# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/routing/features/parallel"
require "penstock/routing/features/quarantine"
require "penstock/runtime/commit_codec"
require "penstock/runtime/suspect_gate"
require "penstock/runtime/suspicion"

module Penstock
  class SuspicionTest < TestCase
    include TestSupport::Lanes

    # What is asked of a session, with a clock that stands.
    class Session
      attr_accessor :now, :high
      attr_reader :events

      def initialize
        @now = 0
        @events = []
      end

      def driver = self
      def cached_watermarks(_topic, _partition) = [0, @high]
      def emit(name, payload) = @events << [name, payload]
    end

    # Remembers who waits, and what would be committed for them.
    class Committer
      attr_reader :waits

      def initialize = @waits = []
      def wait(wait) = @waits << wait

      # The commit is acknowledged, or refused.
      # @param whole [Boolean] whether there was room for all it has to say
      def answer(answer, whole: true)
        wait = @waits.shift
        wait.lane.suspects.written! if answer && whole
        wait.resolve(answer)
      end
    end

    def setup
      @session = Session.new
      @session.high = 4
      @committer = Committer.new
      @gate = Runtime::SuspectGate.new
      @started = []
      @suspicion = suspicion
    end

    def suspicion
      Runtime::Suspicion.new(@session, @committer, @gate, ->(lane, unit) { @started << [lane, offsets_of(unit)] })
    end

    def suspected_lane(by: nil, keys: nil, **said)
      features = {quarantine: Routing::Quarantine.new(3)}
      features[:parallel] = by if by
      lane = lane(route(features: features), committed: 0)
      lane.suspects.adopt(unclean: 0, crashes: {}, clean: false, **said) unless said.empty?
      keys ? lane_of_keys(lane, keys) : admit(lane, batch(0..3, from: 0))
      lane
    end

    def lane_of_keys(lane, keys)
      taken = batch(0..3, from: 0)
      lane.ledger.admit(0, 4, nil)
      lane.let_in(Messages.new(taken, 0, 4), keys)
    end

    # Committed, so that units may go out.
    def told(lane)
      refute @suspicion.open?(lane)
      @committer.answer(true)
      lane
    end

    # As the feeder does.
    # @return [Array<Array<Integer>>] offsets of units that go to workers at once
    def hand_out(lane)
      units = []
      while @suspicion.open?(lane) && (unit = lane.next_unit)
        units << unit if @suspicion.pass?(lane, unit)
      end
      units.map { |each| offsets_of(each) }
    end

    def expire(lane, ms)
      @session.now += ms
      lane.holds.expire(@session.now)
    end

    test "nothing is handed out before the adoption is committed" do
      lane = suspected_lane
      assert_equal [], hand_out(lane)
      assert_equal [:suspect], lane.holds.reasons
      assert lane.uncommitted?
      @committer.answer(true)
      assert_equal [[0, 1, 2, 3]], hand_out(lane)
    end

    test "a commit that isn't answered holds the lane no longer than its patience" do
      lane = suspected_lane
      hand_out(lane)
      expire(lane, 4_999)
      assert_equal [], hand_out(lane)
      expire(lane, 1)
      assert_equal [[0, 1, 2, 3]], hand_out(lane)
      @committer.answer(true)
      assert lane.open?
    end

    test "a suspect goes to a worker alone, when the commit with its count is acknowledged" do
      lane = told(suspected_lane(unclean: 1))
      assert_equal [[], [[0, 1, 2, 3]].size], [hand_out(lane), lane.in_flight]
      assert_equal [{0 => 1}, 2], [decoded(lane).crashes, decoded(lane).unclean_adoptions]
      assert_equal "consumer.suspected", @session.events.last.first
      @committer.answer(true)
      assert_equal [[lane, [0]]], @started
      assert_equal [], hand_out(lane), "as long as it runs nothing else does"
    end

    test "a refused commit puts the suspect back, and it is announced again" do
      lane = told(suspected_lane(unclean: 1))
      hand_out(lane)
      @committer.answer(false)
      assert_equal [0, {}, []], [lane.in_flight, decoded(lane).crashes, @started]
      expire(lane, 1_000)
      hand_out(lane)
      @committer.answer(true)
      assert_equal [[lane, [0]]], @started
    end

    test "a suspect whose count the broker had no room for isn't run; when there is less to say it is" do
      lane = told(suspected_lane(unclean: 1))
      hand_out(lane)
      @committer.answer(true, whole: false)
      assert_equal [[], 0], [@started, lane.in_flight]
      expire(lane, 1_000)
      hand_out(lane)
      @committer.answer(true)
      assert_equal [[lane, [0]]], @started
    end

    test "a suspect that is called back while it waits doesn't start, and isn't counted" do
      lane = told(suspected_lane(unclean: 1))
      hand_out(lane)
      lane.take_back([lane.suspects.take_held])
      @committer.answer(true)
      assert_equal [[], {}, 0, true], [@started, decoded(lane).crashes, lane.in_flight, lane.open?]
    end

    test "keys that run side by side are tried one after another too" do
      by_key = Routing::Parallel.new(:message, 4)
      lane = told(suspected_lane(by: by_key, unclean: 1))
      4.times do |count|
        hand_out(lane)
        @committer.answer(true)
        unit = lane.division.instance_variable_get(:@out).keys.first
        lane.suspects.ended(unit)
        settle(lane, unit)
        assert_equal count + 1, @started.size
      end
      lane.suspects.look(lane.ledger)
      assert_equal [true, 0], [lane.suspects.quiet?, decoded(lane).unclean_adoptions]
    end

    test "records of one key are tried one after another" do
      lane = told(suspected_lane(by: Routing::Parallel.new(:key, 4), keys: %w[same] * 4, unclean: 1))
      hand_out(lane)
      @committer.answer(true)
      assert_equal [[lane, [0]]], @started
    end

    test "one that was counted waits until no other suspect of the process runs" do
      first, second = told(suspected_lane(unclean: 1)), told(suspected_lane(unclean: 1, crashes: {0 => 1}))
      hand_out(first)
      hand_out(second)
      assert_equal [1, 0, [:suspect]], [@committer.waits.size, second.in_flight, second.holds.reasons]
      first.take_back([first.suspects.take_held])
      expire(second, 20)
      hand_out(second)
      assert_equal 2, @committer.waits.size
    end

    test "when a suspect has ended, that is committed at once, and one that was counted waits for it" do
      first, second = told(suspected_lane(unclean: 1)), told(suspected_lane(unclean: 1, crashes: {0 => 1}))
      hand_out(first)
      @committer.answer(true)
      assert first.suspects.ended(running(first))
      @suspicion.clear(first)
      hand_out(second)
      assert_equal [[first], 0], [@committer.waits.map(&:lane), second.in_flight]
      @committer.answer(true)
      expire(second, 20)
      hand_out(second)
      assert_equal [[second], 1], [@committer.waits.map(&:lane), second.in_flight]
    end

    test "the next suspect of the lane doesn't wait until the end of the one before is committed" do
      lane = told(suspected_lane(by: Routing::Parallel.new(:message, 4), unclean: 1, crashes: {0 => 1, 1 => 1}))
      hand_out(lane)
      @committer.answer(true)
      unit = running(lane)
      lane.suspects.ended(unit)
      settle(lane, unit)
      @suspicion.clear(lane)
      hand_out(lane)
      assert_equal [lane, lane], @committer.waits.map(&:lane)
    end

    test "what was alone often enough goes to the worker as one that isn't run" do
      lane = told(suspected_lane(unclean: 0, crashes: {0 => 3}))
      unit = nil
      unit = lane.next_unit until unit && @suspicion.pass?(lane, unit)
      assert_equal [[0], 3], [offsets_of(unit), unit.crashes]
      assert_equal ["consumer.quarantined", {topic: "orders", partition: 0, offset: 0, crashes: 3}], @session.events.last
    end

    private

    # @return [Processing::Unit] the one that a worker has
    def running(lane)
      return lane.division.instance_variable_get(:@out).keys.first if lane.rolling?
      Processing::Unit.new(lane, :consume, Messages.new(batch(0..0, from: 0), 0, 1), 1, 1, lane.incarnation)
    end

    def decoded(lane)
      codec = Runtime::CommitCodec.new
      codec.decode(lane, 0, codec.encode(lane, 0, clean: false))
    end
  end
end
