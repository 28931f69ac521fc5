# frozen_string_literal: true

require "test_helper"
require "support/failing"

module Penstock
  class GivingUpTest < TestCase
    include TestSupport::Failing

    # --- in order

    test "[DLQ zero retries] the blamed record of a batch is dead-lettered at once and the rest runs again, alone up to it" do
      lane = filled(6, dead_letters(0))
      letters = fail_at(lane, lane.next_unit, 3)

      assert_equal [3], letters.map { |burial| burial.letter.offset }
      assert_equal [:dead_letter], lane.holds.reasons
      acknowledge(lane, letters.first, now: 5_000)
      assert_equal [[0], [1], [2], [4, 5]], runs(lane)
      assert_equal 6, lane.position
    end

    test "in order nothing goes on, and the offset stays where it was, until the dead letter is acknowledged" do
      lane = filled(3, dead_letters(0))
      letter = fail_at(lane, lane.next_unit, 0).first
      lane.holds.expire(9_999_999)
      assert_equal [[], 0, false], [runs(lane), lane.position, lane.ledger.complete?(0)]
      acknowledge(lane, letter, now: 5_000)
      runs(lane)
      assert_equal 3, lane.position
    end

    test "a record that was marked before it failed is no dead letter" do
      lane = filled(3, dead_letters(0))
      unit = lane.next_unit
      lane.marks.mark(1)
      assert_empty fail_at(lane, unit, 1)
    end

    test "[DLQ retries] a record is retried so often and then dead-lettered, and what is healthy never is" do
      lane = filled(5, dead_letters(2))
      letters, ran = run_with_poison(lane, [2])

      assert_equal [[2, 3]], letters
      assert_equal [0, 0, 1, 1, 2, 2, 2, 3, 4], ran.sort, "what ran before the bad one runs once more, then nothing twice"
      assert_equal 5, lane.position
    end

    test "[DLQ independent] the second bad record has all its retries" do
      letters, ran = run_with_poison(lane = filled(6, dead_letters(2)), [1, 4])

      assert_equal [[1, 3], [4, 3]], letters
      assert_equal [3, 3], [ran.count(1), ran.count(4)]
      assert_equal 6, lane.position
    end

    test "[DLQ first offset] a poisonous first record of a partition is passed" do
      letters, = run_with_poison(lane = filled(2, dead_letters(0)), [0])
      assert_equal [[[0, 1]], 2], [letters, lane.position]
    end

    test "[DLQ topic false] the record is skipped, told, and what follows goes on behind one back-off" do
      lane = filled(2, dead_letters(0, topic: false))
      ports = settled(lane, lane.next_unit, error: RuntimeError.new, blamed: 0)

      assert_equal ["consumer.skipped"], ports.events.map(&:first)
      assert_equal({retry: 1_000}, lane.holds.to_h)
      lane.holds.expire(1_000)
      assert_equal [[1]], runs(lane)
    end

    test "[DLQ strategy] what the strategy answered counts: skip before everything, dispatch before the retries are used up" do
      lane = filled(2, dead_letters(9, strategy: -> {}))
      unit = lane.next_unit
      advice = advice(unit, 0, answer: [:dispatch, nil])
      assert_equal 1, settled(lane, unit, error: RuntimeError.new, blamed: 0, advice: advice).letters.size

      lane = filled(2, dead_letters(9, strategy: -> {}))
      unit = lane.next_unit
      skip = Processing::Failure::Advice.new(offset: 0, answer: [:skip, nil])
      settled(lane, unit, error: RuntimeError.new, blamed: 0, advice: skip)
      assert_equal 1, lane.position
    end

    test "a dead letter the worker didn't make is one more try" do
      lane = filled(1, dead_letters(0))
      ports = settled(lane, lane.next_unit, error: RuntimeError.new, blamed: 0, advice: nil)
      assert_empty ports.letters
      assert lane.holds.include?(:retry)
    end

    test "where nobody knows which record of several failed they are taken one by one first" do
      lane = filled(3, dead_letters(0))
      assert_empty fail_at(lane, lane.next_unit, 2, cursor: false)
      assert lane.holds.include?(:retry)
    end

    test "[user beats system] a seek goes before the dead letter" do
      lane = filled(1, dead_letters(0))
      ports = settled(lane, unit = lane.next_unit, error: RuntimeError.new, blamed: 0, advice: advice(unit, 0),
        flow: Consumer::Flow::Seek.new(0))
      assert_empty ports.letters
      assert_equal 1, ports.seeks.size
    end

    test "[DLQ MOM default] with manual offsets the record isn't marked, and isn't run again either" do
      lane = filled(3, dead_letters(0), manual: true)
      letter = fail_at(lane, lane.next_unit, 0).first
      acknowledge(lane, letter, now: 5_000)
      assert_equal [[1, 2]], runs(lane)
      assert_equal 0, lane.position
    end

    test "isolate false retries the rest as a whole and gives up its first record" do
      lane = filled(4, {**dead_letters(1), isolate: false})
      unit = lane.next_unit
      assert_empty fail_at(lane, unit, 2)
    end

    # --- side by side

    test "by key only the key of the failed record waits for its dead letter" do
      lane = rolling(%w[a b a b], dead_letters(0))
      units = [lane.next_unit, lane.next_unit]
      letters = fail_at(lane, units[0], 0)
      settled(lane, units[1])

      assert_equal [0], letters.map { |burial| burial.letter.offset }
      assert_equal [[3]], runs(lane), "of the other key"
      assert_equal 0, lane.position
      acknowledge(lane, letters.first, now: 9_000)
      assert_equal [[2]], runs(lane)
      assert_equal 4, lane.position
    end

    test "behind a dead letter a key waits for what is left of its back-off" do
      lane = rolling(%w[a a], dead_letters(0))
      letter = fail_at(lane, lane.next_unit, 0).first
      acknowledge(lane, letter, now: 10)
      refute lane.waiting?
      lane.division.expire(1_000)
      assert_equal [[1]], runs(lane)
    end

    # --- the breaker

    test "while the breaker is open nothing is counted, retried to its end or dead-lettered" do
      lane = filled(4, {**dead_letters(0), breaker: Routing::Breaker.new(2, 2, [])})
      breaker = breaker_of(lane)
      breaker.failed("another", RuntimeError.new, 0)
      ports = settled(lane, lane.next_unit, error: RuntimeError.new, blamed: 0)

      assert_equal [[], [:breaker], {}], [ports.letters, lane.holds.reasons, lane.attempts.to_h]
      assert_equal ["breaker.opened"], ports.events.map(&:first)
      lane.holds.release(:breaker)
      unit = lane.next_unit
      assert_equal [0], offsets_of(unit), "what is tried next is one record"
      settled(lane, unit)
      assert_predicate breaker, :closed?
    end

    test "a key that was marked to its end before its unit opened the breaker is forgotten, so that a record is taken to probe" do
      lane = rolling(%w[a], {breaker: Routing::Breaker.new(1, 1, [])})
      unit = lane.next_unit
      unit.marks.mark(0)
      settle(lane, unit, error: RuntimeError.new, blamed: 0)
      assert lane.holds.only?(:breaker)
      assert_equal [true, true], [lane.division.empty?, lane.takes?]
    end

    test "a success of any lane of the topic begins another row" do
      lane = filled(3, {**dead_letters(9), breaker: Routing::Breaker.new(2, 2, [])})
      fail_at(lane, lane.next_unit, 0)
      lane.holds.expire(99_999)
      settled(lane, lane.next_unit)
      assert_equal 0, breaker_of(lane).streak
    end
  end
end
