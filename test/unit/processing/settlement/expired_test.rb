# frozen_string_literal: true

require "test_helper"
require "support/failing"
require "penstock/execution/errors"
require "penstock/routing/features/expire_in"
require "penstock/routing/features/parallel"

module Penstock
  # Records that expire, most where the route sends them to a topic.
  class ExpiredRecordsTest < TestCase
    include TestSupport::Failing

    WALL = 1_700_000_000_000
    EXPIRY = {expire_in: Routing::ExpireIn.new(1_000, nil, "expired")}.freeze

    # @param ages [Array<Integer>] of the records, from offset 0 on
    def aged(ages, manual: false, keys: nil, **features)
      @clock = VirtualClock.new(wall_ms: WALL)
      features = {parallel: Routing::Parallel.new(:key, 8, nil, :rolling, :current)} if keys
      topic = route(features: {**EXPIRY, **features}, manual: manual)
      @pipeline = topic_pipeline(topic, clock: @clock)
      lane = assign(@pipeline.lane(topic.name, 0, 1, nil)).tap { |one| one.adopt(0) }
      rows = ages.each_with_index.map { |age, offset|
        Messages::MemoryBatch::Row.new(offset: offset, payload: "p", key: keys && keys[offset], timestamp: WALL - age)
      }
      @ports = Ports.new
      perform(lane, @pipeline.admission.call(lane, Messages::MemoryBatch.new("orders", 0, rows, from: 0)))
      perform(lane, @pipeline.admit_next(lane, @clock.monotonic_ms))
      lane
    end

    def perform(lane, effects) = effects.each { |effect| effect.perform(lane, @ports) }

    # As the feeder does.
    # @return [Processing::Unit, nil]
    def handed(lane)
      unit = lane.next_unit or return
      perform(lane, @pipeline.drop_expired(lane, unit, @clock.monotonic_ms))
      return unit unless unit.messages.empty?
      lane.returned(unit)
      nil
    end

    # As a worker does.
    # @param built [Integer] letters that could be built
    def outcome(unit, built: unit.messages.size)
      letters = unit.messages.first(built).map { |record|
        Processing::Failure::Letter.new(record: record, dispatch: {topic: "expired"}, kind: :expired, attempt: 0)
      }
      results = Processing::Failure::CallbackResults.new(offset: unit.messages.first_offset, letters: letters)
      Processing::Outcome.new(unit: unit, error: ExpiredError.new, blamed: unit.messages.first_offset, finished: false,
        time_ms: 1, callback_results: results)
    end

    # @return [Array<Processing::Failure::LetterRequest>]
    def settle_expired(lane, unit, now: 0, **options)
      lane.returned(unit)
      before = @ports.letters.size
      perform(lane, @pipeline.settle(lane, outcome(unit, **options), now))
      @ports.letters.drop(before)
    end

    def succeed(lane, unit)
      lane.returned(unit)
      outcome = Processing::Outcome.new(unit: unit, finished: true, time_ms: 1)
      perform(lane, @pipeline.settle(lane, outcome, 0)) unless @pipeline.complete_directly(lane, outcome)
    end

    OLD = 2_000
    private_constant :OLD

    test "[expired records to a topic] a unit has either only expired records or none, in order" do
      lane = aged([OLD, OLD, 1, OLD, 1, 1])
      units = Array.new(4) { handed(lane).tap { |unit| lane.returned(unit) } }
      assert_equal [[[0, 1], true], [[2], false], [[3], true], [[4, 5], nil]], units.map { |unit|
        [offsets_of(unit), unit.expired]
      }
      assert_equal [2, 3], [units[0].upto, units[1].upto]
    end

    test "in order nothing runs, and the offset doesn't move, until all letters of the unit are acknowledged" do
      lane = aged([OLD, OLD, 1])
      letters = settle_expired(lane, handed(lane))
      assert_equal [[0, 1], [true, true]], [letters.map { |one| one.letter.offset }, letters.map(&:complete)]
      acknowledge(lane, letters.last)
      lane.holds.expire(9_999_999)
      assert_equal [false, 0, true], [lane.waiting?, lane.committable_offset, lane.ledger.complete?(1)]
      acknowledge(lane, letters.first)
      assert_equal [true, 2], [lane.waiting?, lane.committable_offset]
      succeed(lane, handed(lane))
      assert_equal 3, lane.committable_offset
    end

    test "with manual offsets an expired record is complete with its letter, and never delivered again" do
      lane = aged([OLD, 1], manual: true)
      letters = settle_expired(lane, handed(lane))
      assert lane.redelivery.given_up?(0)
      acknowledge(lane, letters.first)
      succeed(lane, handed(lane))
      assert_equal 1, lane.committable_offset
    end

    test "by key only the key of the expired record waits" do
      lane = aged([OLD, 1, 1], keys: %w[a b a])
      units = []
      while (unit = handed(lane))
        units << unit
      end
      assert_equal [[0], [1]], units.map { |one| offsets_of(one) }
      letters = settle_expired(lane, units.first)
      assert_equal [true, false], [lane.holds.open?, lane.waiting?]
      succeed(lane, units.last)
      assert_equal 0, lane.committable_offset
      acknowledge(lane, letters.first)
      assert_equal [2], offsets_of(handed(lane))
      assert_equal 2, lane.committable_offset
    end

    test "records whose letter couldn't be built go through the same again, after a wait if it is none" do
      lane = aged([OLD, OLD, OLD])
      letters = settle_expired(lane, handed(lane), built: 1)
      assert_equal 1, letters.size
      acknowledge(lane, letters.first)
      unit = handed(lane)
      assert_equal [[1, 2], true], [offsets_of(unit), unit.expired]
      assert_empty settle_expired(lane, unit, built: 0)
      assert_equal [[:retry], 5_000], [lane.holds.reasons, lane.holds.due(:retry)]
      lane.holds.expire(5_000)
      assert_equal [1, 2], offsets_of(handed(lane))
      assert_equal 0, lane.attempts.of(1), "no attempt is counted"
    end

    test "a unit that is called back, or interrupted, changes nothing" do
      lane = aged([OLD, 1])
      unit = handed(lane)
      lane.put_back([unit])
      unit = handed(lane)
      assert unit.expired
      lane.returned(unit)
      interrupted = Processing::Outcome.new(unit: unit, error: Interrupted.new, finished: false, time_ms: 1)
      perform(lane, @pipeline.settle(lane, interrupted, 0))
      assert_equal [[], [0]], [@ports.letters, offsets_of(handed(lane))]
    end

    test "an expired record is no failure: neither the breaker nor dead letters see it" do
      lane = aged([OLD], **dead_letters(0), breaker: breaking(after: 1))
      settle_expired(lane, handed(lane))
      assert_equal [:expired], @ports.letters.map { |request| request.letter.kind }
      assert_predicate @pipeline.breaker, :closed?
    end

    test "a record that ran with an expired one has its own attempts, not those of the expired record" do
      lane = aged([800, 1, 1], isolate: false, expire_in: Routing::ExpireIn.new(1_000), **dead_letters(9))
      2.times do
        settle(lane, handed(lane), error: IOError.new, blamed: 0)
        lane.holds.expire(1_000_000)
      end
      @clock.advance(500)
      unit = handed(lane)
      assert_equal [[1, 2], 1], [offsets_of(unit), unit.attempt]
      settle(lane, unit, error: IOError.new, blamed: 2)
      assert_equal({1 => 1}, lane.attempts.to_h)
    end

    test "a new incarnation forgets the letters and ends the hold" do
      lane = aged([OLD, 1])
      settle_expired(lane, handed(lane))
      lane.letter_sent
      lane.reincarnate(0)
      assert_equal [true, true], [lane.holds.open?, lane.idle?]
    end
  end
end
