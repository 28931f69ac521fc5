# frozen_string_literal: true

require "test_helper"
require "support/all_active"
require "support/failing"
require "support/virtual_clock"
require "penstock/runtime/loop/work/breakers"

module Penstock
  class BreakersTest < TestCase
    include TestSupport::Failing

    # Counts how often it was woken.
    class Mailbox
      def woken = @woken.to_i
      def wake_up = @woken = woken + 1
    end

    Session = Struct.new(:clock, :all, :events, :called_back, :mailbox) do
      include TestSupport::AllActive

      def lanes = all.to_h { |lane| [lane.key, lane] }
      def now = clock.monotonic_ms
      def emit(name, payload) = events << [name, payload]
      def lane(key) = all.find { |lane| lane.key == key }
      def current?(lane) = all.include?(lane)
      def call_back(lane) = called_back << lane
    end

    def setup
      @clock = VirtualClock.new
      @topic = route(features: {**dead_letters(0), breaker: breaking(after: 2)})
      @breaker = breaker_of(lane(@topic))
      @lanes = Array.new(3) { |partition| lane_of(partition) }
      @session, @sent, @runtime = connection(@lanes)
    end

    # @return [Array] a session, the units sent to workers, and the tested breakers
    def connection(lanes)
      session = Session.new(@clock, lanes, [], [], Mailbox.new)
      sent = []
      runtime = Runtime::Breakers.new(session, ->(lane, unit) { hand_out(sent, lane, unit) })
      runtime.add(@breaker)
      [session, sent, runtime]
    end

    # Unless the record has expired.
    def hand_out(sent, lane, unit)
      return sent << [lane, unit] unless @expired&.include?(unit.messages.first_offset)
      lane.returned(unit)
      false
    end

    def lane_of(partition, topic = @topic)
      lane = Processing::Lane.new(topic: topic, topic_name: topic.name, partition: partition, epoch: 1)
      equip(lane, breaker: @breaker)
      lane.adopt(0)
      admit(lane, batch(0..3, from: 0))
      lane
    end

    def open_breaker(error = RuntimeError.new)
      2.times do |record|
        unit = Struct.new(:sequence).new(record)
        attempt = Processing::Failure::Breaker::Attempt.new(record: ["orders", 9, record], error: error, sequence: record,
          number: @breaker.number_records(1, unit), fresh: true)
        @breaker.failed(attempt, @clock.monotonic_ms)
      end
    end

    def close_breaker = @breaker.succeeded(fresh: 1, completed: true, probe: nil, now: @clock.monotonic_ms)

    def pass(duration_ms)
      @clock.advance(duration_ms)
      @runtime.run
    end

    # The probe that is under way fails.
    def fail_probe(error = RuntimeError.new)
      lane, unit = @sent.last
      settled(lane, unit, error: error, blamed: unit.messages.first_offset, now: @clock.monotonic_ms)
    end

    def names = @session.events.map(&:first)

    test "a breaker that opens and closes within a turn releases the lane that its failure has held" do
      open_breaker
      @lanes.first.holds.add(:breaker)
      close_breaker
      assert_equal @session.now, @runtime.next_due
      @runtime.run

      assert_equal [[]] * 3, @lanes.map { |lane| lane.holds.reasons }
      assert_equal %w[breaker.opened breaker.closed], names
    end

    test "an open breaker holds all lanes of its topic, also those that come later, and calls back units that haven't started" do
      open_breaker
      pass(0)
      assert_equal [[:breaker]] * 3, @lanes.map { |lane| lane.holds.reasons }
      assert_equal @lanes, @session.called_back
      @lanes << lane_of(3)
      pass(0)
      assert_equal [:breaker], @lanes.last.holds.reasons
    end

    test "one record at a time is probed, of one lane after another" do
      open_breaker
      3.times do
        pass(@breaker.due - @session.now)
        pass(10)
        fail_probe
      end
      assert_equal [0, 1, 2], @sent.map { |lane, _unit| lane.partition }
      assert_equal [1, 1, 1], @sent.map { |_lane, unit| unit.messages.size }
      assert_empty @lanes.flat_map { |lane| lane.attempts.to_h.to_a }
    end

    test "a record that has never run is probed before one that is retried, and before one of a retry topic" do
      @lanes.first.attempts.restore(0, 1)
      tiers = Routing::RetryTopics.new("orders", [100], "dead", 1, "wait")
      @lanes << lane_of(0, route(name: "orders.retry.1", features: {retry_topics: tiers, breaker: breaking(after: 2)}))
      open_breaker
      4.times do
        pass(@breaker.due - @session.now)
        fail_probe
      end
      assert_equal [["orders", 1], ["orders", 2]], @sent.first(2).map { |lane, _unit| lane.key }
      assert_equal [["orders", 0], ["orders.retry.1", 0]], @sent.last(2).map { |lane, _unit| lane.key }.sort
    end

    test "side by side each probe has another key, and more records are taken when all available ones have been probed" do
      lane = rolling(%w[a b a], {**dead_letters(0), breaker: breaking(after: 2)})
      equip(lane, breaker: breaker_of(lane))
      @breaker = lane.breaker
      @session, @sent, @runtime = connection([lane])
      open_breaker
      offsets = Array.new(2) do
        pass(@breaker.due - @session.now)
        refute lane.probing.admits?, "a record that has not been tried is there" if @sent.size == 1
        fail_probe
        offsets_of(@sent.last.last)
      end
      assert_equal [[0], [1]], offsets
      assert_predicate lane.probing, :admits?
    end

    test "the first success releases all lanes" do
      open_breaker
      pass(0)
      settled(*@sent.first)
      pass(0)
      assert(@lanes.all? { |lane| lane.holds.open? })
      assert_equal %w[breaker.opened breaker.closed], names
      assert_equal [:success, ["orders"]], @session.events.last.last.values_at(:reason, :topics)
    end

    test "the hold ends with its limit, in a loop that has nothing else to do" do
      open_breaker
      pass(0)
      opened_at = @session.now
      3.times { fail_probe && pass(@breaker.due - @session.now) }
      assert_equal opened_at + 300_000, @runtime.next_due
      pass(298_000)
      assert(@lanes.all? { |lane| lane.holds.open? })
      assert_equal [:limit, "RuntimeError", 300_000], @session.events.last.last.values_at(:reason, :cause, :held_ms)
    end

    test "the hold can be ended by hand" do
      open_breaker
      pass(0)
      assert @breaker.close_by_hand
      pass(0)
      assert(@lanes.all? { |lane| lane.holds.open? })
      assert_equal :command, @session.events.last.last[:reason]
      refute @breaker.close_by_hand
    end

    test "where no lane has a record to probe, records are taken until there is one" do
      open_breaker
      @lanes.each { |lane| lane.reincarnate(0) }
      pass(0)
      assert_empty @sent
      assert_operator @lanes.first.wanted, :>, 0
      admit(@lanes.first, batch(0..3, from: 0))
      assert_equal 0, @lanes.first.wanted
      refute_nil @runtime.next_due
      pass(0)
      assert_equal [@lanes.first], @sent.map(&:first)
    end

    test "records that have expired are dropped at once, until one can be tried" do
      @expired = [0, 1]
      open_breaker
      pass(0)
      assert_equal [[0, 2]], @sent.map { |lane, unit| [lane.partition, unit.messages.first_offset] }
      assert_equal :probing, @breaker.state
    end

    test "a probe whose lane is lost, or that was called back, is followed by another" do
      open_breaker
      pass(0)
      lane, unit = @sent.first
      lane.returned(unit)
      @lanes.delete(lane)
      pass(0)
      assert_equal [0, 1], @sent.map { |one, _unit| one.partition }
    end

    test "a probe that ended without a result is finished, though other units of its lane still run" do
      lane = rolling(%w[a b c], {**dead_letters(0), breaker: breaking(after: 2)})
      equip(lane, breaker: @breaker = breaker_of(lane))
      @session, @sent, @runtime = connection([lane])
      lane.next_unit
      open_breaker
      pass(0)
      unit = @sent.first.last
      settled(lane, unit, error: Interrupted.new, blamed: 1)
      pass(0)
      assert_equal 2, @sent.size
    end

    test "the next run is due at once where lanes don't match the breaker's state, otherwise with the next probe" do
      assert_nil @runtime.next_due
      open_breaker
      assert_equal @session.now, @runtime.next_due, "lanes are to be held"
      3.times { pass(@breaker.due - @session.now) && fail_probe }
      pass(0)
      assert_equal @session.now + 2_000, @runtime.next_due
      @lanes << lane_of(3)
      assert_equal @session.now, @runtime.next_due, "a lane came"
      pass(@breaker.due - @session.now)
      assert_equal @session.now + 298_000, @runtime.next_due, "a probe runs"
      settled(*@sent.last)
      assert_equal @session.now, @runtime.next_due, "lanes are to be released"
    end

    test "an overdue probe waits for a record, not for a time" do
      open_breaker
      @lanes.each { |lane| lane.division.clear }
      pass(0)
      pass(60_000)
      assert_equal @session.now + 240_000, @runtime.next_due, "the limit"
      assert_empty @sent
    end

    # --- several connections

    test "lanes of all connections are held and released, one probe runs among them, and each event comes once" do
      other = lane_of(7)
      session, sent, runtime = connection([other])
      open_breaker
      [@runtime, runtime].each(&:run)
      assert_equal [:breaker], other.holds.reasons
      assert_equal 1, @sent.size + sent.size
      settled(*@sent.first)
      [@runtime, runtime].each(&:run)
      assert_predicate other.holds, :open?
      assert_equal %w[breaker.opened breaker.closed], names + session.events.map(&:first)
      assert_operator session.mailbox.woken, :>=, 2
    end

    test "the connection that has a fresh record probes before one that has only retries" do
      @lanes.each { |lane| lane.attempts.restore(0, 1) }
      _session, sent, runtime = connection([lane_of(7)])
      open_breaker
      @runtime.run
      assert_empty @sent
      assert_equal @session.now + 50, @runtime.next_due
      runtime.run
      assert_equal 1, sent.size
    end

    test "a connection that ends with a probe leaves probing to the others" do
      _session, sent, runtime = connection([lane_of(7)])
      open_breaker
      @runtime.run
      @runtime.close
      runtime.run
      assert_equal [1, 1], [@sent.size, sent.size]
    end
  end
end
