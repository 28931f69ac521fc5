# frozen_string_literal: true

require "test_helper"
require "support/failing"
require "support/virtual_clock"
require "penstock/runtime/breakers"

module Penstock
  class BreakersTest < TestCase
    include TestSupport::Failing

    Session = Struct.new(:clock, :all, :events, :called_back) do
      def lanes = all.to_h { |lane| [lane.key, lane] }
      def now = clock.monotonic_ms
      def emit(name, payload) = events << [name, payload]
      def lane(key) = all.find { |lane| lane.key == key }
      def current?(lane) = all.include?(lane)
      def call_back(lane) = called_back << lane
    end

    def setup
      @clock = VirtualClock.new
      @topic = route(features: {**dead_letters(0), breaker: Routing::Breaker.new(2, 2, [])})
      @lanes = Array.new(3) { |partition| lane_of(partition) }
      @session = Session.new(@clock, @lanes, [], [])
      @sent = []
      @runtime = Runtime::Breakers.new(@session, ->(lane, unit) { @sent << [lane, unit] })
      @breaker = breaker_of(@lanes.first)
      @runtime.add(@topic, @breaker)
    end

    def lane_of(partition)
      lane = Processing::Lane.new(topic: @topic, topic_name: "orders", partition: partition, epoch: 1)
      lane.adopt(0)
      admit(lane, batch(0..3, from: 0))
      lane
    end

    def open_breaker = 2.times { |offset| @breaker.failed(offset, RuntimeError.new, @session.now) }

    def pass(duration_ms)
      @clock.advance(duration_ms)
      @runtime.run
    end

    test "a breaker that opens and closes within a turn lets go of the lane that told of it" do
      open_breaker
      @lanes.first.holds.add(:breaker)
      @breaker.succeeded
      assert_equal @session.now, @runtime.next_due
      @runtime.run

      assert_equal [[]] * 3, @lanes.map { |lane| lane.holds.reasons }
    end

    test "an open breaker holds all lanes of its topic and calls back what hasn't started, those that come later too" do
      open_breaker
      pass(0)
      assert_equal [[:breaker]] * 3, @lanes.map { |lane| lane.holds.reasons }
      assert_equal @lanes, @session.called_back
      @lanes << lane_of(3)
      pass(0)
      assert_equal [:breaker], @lanes.last.holds.reasons
    end

    test "one record at a time is tried, of one lane after another" do
      open_breaker
      3.times do
        pass(@breaker.due - @session.now)
        pass(10)
        lane, unit = @sent.last
        assert_equal 1, unit.messages.size
        settled(lane, unit, error: RuntimeError.new, blamed: 0, now: @session.now)
      end
      assert_equal [0, 1, 2], @sent.map { |lane, _unit| lane.partition }
      assert_empty @lanes.flat_map { |lane| lane.attempts.to_h.to_a }
    end

    test "the first success lets all lanes go" do
      open_breaker
      pass(2_000)
      settled(*@sent.first)
      pass(0)
      assert(@lanes.all? { |lane| lane.holds.open? })
      assert_equal ["breaker.closed"], @session.events.map(&:first)
    end

    test "where no lane has a record to try, records are taken until there is one" do
      open_breaker
      @lanes.each { |lane| lane.reincarnate(0) }
      pass(2_000)
      assert_empty @sent
      assert_operator @lanes.first.wanted, :>, 0
      admit(@lanes.first, batch(0..3, from: 0))
      assert_equal 0, @lanes.first.wanted
      refute_nil @runtime.next_due
      pass(0)
      assert_equal [@lanes.first], @sent.map(&:first)
    end

    test "a probe whose lane is lost, or that was called back, is followed by another" do
      open_breaker
      pass(2_000)
      lane, unit = @sent.first
      lane.returned(unit)
      @lanes.delete(lane)
      pass(0)
      assert_equal [0, 1], @sent.map { |one, _unit| one.partition }
    end

    test "it is due at once where lanes aren't as the breaker says, and else when the next probe is" do
      assert_nil @runtime.next_due
      open_breaker
      assert_equal @session.now, @runtime.next_due, "lanes are to be held"
      pass(0)
      assert_equal @breaker.due, @runtime.next_due
      @lanes << lane_of(3)
      assert_equal @session.now, @runtime.next_due, "a lane came"
      pass(@breaker.due - @session.now)
      assert_nil @runtime.next_due, "a probe runs"
      settled(*@sent.first)
      assert_equal @session.now, @runtime.next_due, "lanes are to be let go"
    end

    test "an overdue probe waits for a record, not for a time" do
      open_breaker
      pass(0)
      @lanes.each { |lane| lane.division.clear }
      pass(60_000)
      assert_nil @runtime.next_due
      assert_empty @sent
    end
  end
end
