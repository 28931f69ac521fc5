# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/routing/features/parallel"
require "penstock/routing/features/quarantine"
require "penstock/runtime/loop/group/commit_codec"
require "penstock/runtime/crash_gate"
require "penstock/runtime/loop/work/crash_guard"

module Penstock
  class CrashGuardTest < TestCase
    include TestSupport::Lanes

    # The session, with a clock that doesn't move.
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
      def current?(_lane) = true
    end

    # Records which lanes are to be committed and which callbacks wait for it.
    class Committer
      attr_reader :waits, :wanted

      def initialize
        @waits = []
        @wanted = []
      end

      def request_commit(lanes) = @wanted |= lanes

      def wait(wait)
        @waits << wait
        request_commit([wait.lane])
      end

      # The wanted commit is sent and acknowledged, or refused.
      # @param whole [Boolean] whether all its metadata fitted
      def answer(answer, whole: true)
        lanes, @wanted = @wanted, []
        waits, @waits = @waits, []
        lanes.each { |lane| answered(lane.suspects, answer && whole) }
        waits.each { |wait| wait.resolve(answer) }
      end

      private

      def answered(suspects, well)
        suspects.written!
        return suspects.acknowledged! if well
        suspects.unwritten!
        suspects.refused!
      end
    end

    def setup
      @session = Session.new
      @session.high = 4
      @committer = Committer.new
      @gate = Runtime::CrashGate.new
      @started = []
      @crash_guard = crash_guard
    end

    def crash_guard
      Runtime::CrashGuard.new(@session, @committer, @gate, ->(lane, unit) { @started << [lane, unit] })
    end

    def suspected_lane(by: nil, keys: nil, count: 4, max: 100, **said)
      features = {quarantine: Routing::Quarantine.new(3)}
      features[:parallel] = by if by
      @session.high = count if count > 4
      lane = lane(route(features: features, max_messages: max), committed: 0)
      lane.suspects.adopt(unclean: 0, crashes: {}, clean: false, **said) unless said.empty?
      keys ? lane_of_keys(lane, keys) : admit(lane, batch(0...count, from: 0))
      lane
    end

    def lane_of_keys(lane, keys)
      taken = batch(0..3, from: 0)
      lane.ledger.admit(0, 4, nil)
      lane.admit(Messages.new(taken, 0, 4), keys)
    end

    # Committed, so that units may go out.
    def told(lane)
      refute @crash_guard.check(lane)
      @committer.answer(true)
      lane
    end

    # As the feeder does.
    # @return [Array<Array<Integer>>] offsets of units that go to workers at once
    def hand_out(lane)
      units = []
      @crash_guard.release(lane)
      while @crash_guard.check(lane) && (unit = lane.next_unit)
        units << unit if @crash_guard.admit(lane, unit)
      end
      @crash_guard.commit
      units.map { |each| offsets_of(each) }
    end

    # The commit is answered, and the loop runs a turn.
    def answer(lane, answer = true, **how)
      @committer.answer(answer, **how)
      hand_out(lane)
    end

    # A unit that was started succeeds.
    def end_unit(lane, index = -1)
      unit = @started[index].last
      @crash_guard.clear(lane) if lane.suspects.ended(unit)
      settle(lane, unit)
    end

    def started = @started.map { |lane, unit| [lane, offsets_of(unit)] }

    def expire(lane, ms)
      @session.now += ms
      lane.holds.expire(@session.now)
    end

    test "nothing is handed out before the adoption is committed" do
      lane = suspected_lane
      assert_equal [], hand_out(lane)
      assert_equal [:suspect], lane.holds.reasons
      assert lane.commit_state.uncommitted?
      @committer.answer(true)
      assert_equal [[0, 1, 2, 3]], hand_out(lane)
    end

    test "a commit that isn't answered delays the lane at most as long as its limit" do
      lane = suspected_lane
      hand_out(lane)
      expire(lane, 4_999)
      assert_equal [], hand_out(lane)
      expire(lane, 1)
      assert_equal [[0, 1, 2, 3]], hand_out(lane)
      @committer.answer(true)
      assert lane.open?
    end

    test "suspects go to a worker in a group, when the commit that announces the group is acknowledged" do
      lane = told(suspected_lane(unclean: 0))
      assert_equal [[], 1, [lane]], [hand_out(lane), lane.in_flight, @committer.wanted]
      assert_equal [{0 => 0, 1 => 0, 2 => 0, 3 => 0}, 1], [decoded(lane).crashes, decoded(lane).unclean_adoptions]
      assert_empty @session.events, "one unclean end isn't reported"
      answer(lane)
      assert_equal [[lane, [0, 1, 2, 3]]], started
    end

    test "records that don't fit the group come next; in order they wait for the group to be announced" do
      lane = suspected_lane(unclean: 0, max: 100, count: 20)
      told(lane)
      hand_out(lane)
      answer(lane)
      assert_equal [[lane, (0..7).to_a]], started
      assert_equal [], hand_out(lane), "eight are under way"
      end_unit(lane)
      hand_out(lane)
      answer(lane)
      assert_equal [lane, (8..15).to_a], started.last
    end

    test "in order no other record overtakes a group that is not announced yet" do
      @session.high = 2
      lane = suspected_lane(unclean: 0, max: 2)
      told(lane)
      assert_equal [], hand_out(lane)
      assert_equal [[2, 3]], answer(lane)
      assert_equal [[lane, [0, 1]]], started
    end

    test "in order groups of small units are announced together, and start in order" do
      lane = told(suspected_lane(unclean: 0, max: 1))
      hand_out(lane)
      assert_equal({0 => 0, 1 => 0}, decoded(lane).crashes)
      answer(lane)
      assert_equal [[0], [1]], started.map(&:last)
    end

    test "side by side groups follow each other without a pause: a record that ends makes room for the next" do
      lane = told(suspected_lane(by: Routing::Parallel.new(:message, 4), unclean: 0, count: 12))
      hand_out(lane)
      answer(lane)
      first = started.map(&:last)
      assert_equal (0..5).map { |offset| [offset] }, first.first(6)
      end_unit(lane, 0)
      hand_out(lane)
      assert_operator decoded(lane).crashes.size, :>=, first.size - 1
      answer(lane)
      assert_operator started.size, :>, first.size, "while the others still run"
    end

    test "suspects that were under way when a process died run alone, one after another, and each is counted before it starts" do
      lane = told(suspected_lane(unclean: 1, crashes: {0 => 0, 1 => 0}))
      hand_out(lane)
      assert_equal({0 => 1, 1 => 0}, decoded(lane).crashes)
      assert_equal ["consumer.suspected", 2], [@session.events.last.first, @session.events.last.last[:unclean]]
      answer(lane)
      assert_equal [[lane, [0]]], started
      assert_equal [], hand_out(lane), "as long as it runs nothing else does"
      end_unit(lane)
      hand_out(lane)
      assert_equal({1 => 1}, decoded(lane).crashes, "the end of one and the beginning of the next are in one commit")
      answer(lane)
      end_unit(lane)
      hand_out(lane)
      answer(lane)
      assert_equal [[0], [1], [2, 3]], started.map(&:last)
    end

    test "a refused commit returns the units it was to announce, in order, and they are announced again" do
      lane = told(suspected_lane(unclean: 0))
      hand_out(lane)
      answer(lane, false)
      assert_equal [0, {}, []], [lane.in_flight, decoded(lane).crashes, started]
      expire(lane, 1_000)
      hand_out(lane)
      answer(lane)
      assert_equal [[lane, [0, 1, 2, 3]]], started
    end

    test "suspects that didn't fit a commit aren't run; when there is less metadata they are" do
      lane = told(suspected_lane(unclean: 0))
      hand_out(lane)
      answer(lane, whole: false)
      assert_equal [[], 0], [started, lane.in_flight]
      expire(lane, 1_000)
      hand_out(lane)
      answer(lane)
      assert_equal [[lane, [0, 1, 2, 3]]], started
    end

    test "suspects that are called back while they wait don't start, and aren't announced" do
      lane = told(suspected_lane(unclean: 1, crashes: {0 => 1}))
      hand_out(lane)
      lane.put_back(lane.suspects.take_held)
      @committer.answer(true)
      assert_equal [[], {0 => 1}, 0, true], [started, decoded(lane).crashes, lane.in_flight, lane.open?]
    end

    test "records of one key are tried one after another, a group of them in one unit" do
      lane = told(suspected_lane(by: Routing::Parallel.new(:key, 4), keys: %w[same] * 4, unclean: 0))
      hand_out(lane)
      answer(lane)
      assert_equal [[lane, [0, 1, 2, 3]]], started
    end

    test "a counted suspect waits until no other suspect of the process runs" do
      first, second = told(suspected_lane(unclean: 0)), told(suspected_lane(unclean: 1, crashes: {0 => 1}))
      hand_out(first)
      hand_out(second)
      assert_equal [[first], 0, [:suspect]], [@committer.wanted, second.in_flight, second.holds.reasons]
      first.put_back(first.suspects.take_held)
      expire(second, 20)
      hand_out(second)
      assert_equal [first, second], @committer.wanted
    end

    test "when a counted suspect has ended, that is committed at once, and a counted one of another lane waits for it" do
      first, second = told(suspected_lane(unclean: 1, crashes: {0 => 0})), told(suspected_lane(unclean: 1, crashes: {0 => 1}))
      hand_out(first)
      answer(first)
      end_unit(first)
      @crash_guard.commit
      hand_out(second)
      assert_equal [[first], 0], [@committer.waits.map(&:lane), second.in_flight]
      @committer.answer(true)
      expire(second, 20)
      hand_out(second)
      assert_equal [[second], 1], [@committer.wanted, second.in_flight]
    end

    test "a lane that is lost before its commit is sent is not committed" do
      lane = told(suspected_lane(unclean: 0))
      @session.define_singleton_method(:current?) { |_lane| false }
      hand_out(lane)
      assert_empty @committer.wanted
    end

    test "a suspect that was alone often enough goes to the worker as a record that isn't run" do
      lane = told(suspected_lane(unclean: 0, crashes: {0 => 3}))
      unit = nil
      unit = lane.next_unit until unit && @crash_guard.admit(lane, unit)
      assert_equal [[0], 3], [offsets_of(unit), unit.crashes]
      assert_equal ["consumer.quarantined", {topic: "orders", partition: 0, offset: 0, crashes: 3}], @session.events.last
    end

    private

    def decoded(lane)
      codec = Runtime::CommitCodec.new
      codec.decode(lane, 0, codec.encode(lane, 0, clean: false))
    end
  end
end
