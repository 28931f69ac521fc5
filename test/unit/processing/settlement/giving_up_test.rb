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

      assert_equal [3], letters.map { |request| request.letter.offset }
      assert_equal [:dead_letter], lane.holds.reasons
      acknowledge(lane, letters.first)
      assert_equal [[0], [1], [2], [4, 5]], runs(lane)
      assert_equal 6, lane.committable_offset
    end

    test "[unreadable records] the loop follows what the worker found, for that record only" do
      lane = filled(3, dead_letters(5, unreadable: 0))
      unit = lane.next_unit
      results = callback_results(unit, 1).tap { |one| one.unreadable = true }
      letters = settled(lane, unit, error: RuntimeError.new, blamed: 1, results: results).letters
      assert_equal [1], letters.map { |request| request.letter.offset }
      acknowledge(lane, letters.first)
      assert_equal [[0], [2]], runs(lane)
      lane = filled(1, dead_letters(5, unreadable: 0))
      assert_empty fail_at(lane, lane.next_unit, 0)
    end

    test "in order nothing runs, and the offset doesn't move, until the dead letter is acknowledged" do
      lane = filled(3, dead_letters(0))
      letter = fail_at(lane, lane.next_unit, 0).first
      lane.holds.expire(9_999_999)
      assert_equal [[], 0, false], [runs(lane), lane.committable_offset, lane.ledger.complete?(0)]
      acknowledge(lane, letter)
      runs(lane)
      assert_equal 3, lane.committable_offset
    end

    test "a record that was marked before it failed isn't dead-lettered" do
      lane = filled(3, dead_letters(0))
      unit = lane.next_unit
      lane.marks.mark(1)
      assert_empty fail_at(lane, unit, 1)
    end

    test "[DLQ retries] a record is retried max_retries times and then dead-lettered, and healthy records never are" do
      lane = filled(5, dead_letters(2))
      letters, ran = run_with_poison(lane, [2])

      assert_equal [[2, 3]], letters
      assert_equal [0, 0, 1, 1, 2, 2, 2, 3, 4], ran.sort, "what ran before the bad one runs once more, then nothing twice"
      assert_equal 5, lane.committable_offset
    end

    test "[DLQ independent] the second bad record has all its retries" do
      letters, ran = run_with_poison(lane = filled(6, dead_letters(2)), [1, 4])

      assert_equal [[1, 3], [4, 3]], letters
      assert_equal [3, 3], [ran.count(1), ran.count(4)]
      assert_equal 6, lane.committable_offset
    end

    test "[DLQ first offset] a poisonous first record of a partition is dead-lettered" do
      letters, = run_with_poison(lane = filled(2, dead_letters(0)), [0])
      assert_equal [[[0, 1]], 2], [letters, lane.committable_offset]
    end

    test "[DLQ topic false] the record is skipped, with an event, and later records run at once" do
      lane = filled(2, dead_letters(0, topic: false))
      ports = settled(lane, lane.next_unit, error: RuntimeError.new, blamed: 0)

      assert_equal ["consumer.skipped"], ports.events.map(&:first)
      assert_equal [[1]], runs(lane)
    end

    test "[DLQ strategy] the strategy's answer counts: skip before everything, dispatch before the retries are used up" do
      lane = filled(2, dead_letters(9, strategy: -> {}))
      unit = lane.next_unit
      results = callback_results(unit, 0, answer: [:dispatch, nil])
      assert_equal 1, settled(lane, unit, error: RuntimeError.new, blamed: 0, results: results).letters.size

      lane = filled(2, dead_letters(9, strategy: -> {}))
      unit = lane.next_unit
      skip = Processing::Failure::CallbackResults.new(offset: 0, answer: [:skip, nil])
      settled(lane, unit, error: RuntimeError.new, blamed: 0, results: skip)
      assert_equal 1, lane.committable_offset
    end

    test "[DLQ strategy] a record that the strategy wasn't called about isn't skipped for the one that was marked meanwhile" do
      lane = filled(3, {**dead_letters(9, strategy: -> {}), isolate: false})
      unit = lane.next_unit
      skip = Processing::Failure::CallbackResults.new(offset: 0, answer: [:skip, nil])
      lane.marks.mark(0)
      ports = settled(lane, unit, error: RuntimeError.new, blamed: 2, results: skip)
      assert_equal [["consumer.consuming.pause"], 1, 1], [ports.events.map(&:first), lane.committable_offset, lane.attempts.of(1)]
      lane.holds.expire(1_000_000)
      assert_equal [[1, 2]], runs(lane)
    end

    test "a record whose dead letter the worker didn't build is tried once more" do
      lane = filled(1, dead_letters(0))
      ports = settled(lane, lane.next_unit, error: RuntimeError.new, blamed: 0, results: nil)
      assert_empty ports.letters
      assert lane.holds.include?(:retry)
    end

    test "if it isn't known which of several records failed they run one by one first" do
      lane = filled(3, dead_letters(0))
      assert_empty fail_at(lane, lane.next_unit, 2, cursor: false)
      assert lane.holds.include?(:retry)
    end

    test "[user beats system] a seek has priority over the dead letter" do
      lane = filled(1, dead_letters(0))
      ports = settled(lane, unit = lane.next_unit, error: RuntimeError.new, blamed: 0, results: callback_results(unit, 0),
        flow: Consumer::Flow::Seek.new(0))
      assert_empty ports.letters
      assert_equal 1, ports.seeks.size
    end

    test "[DLQ MOM default] with manual offsets the record isn't marked, and isn't run again either" do
      lane = filled(3, dead_letters(0), manual: true)
      letter = fail_at(lane, lane.next_unit, 0).first
      acknowledge(lane, letter)
      assert_equal [[1, 2]], runs(lane)
      assert_equal 0, lane.committable_offset
    end

    test "isolate false retries the rest as a whole and dead-letters its first record" do
      lane = filled(4, {**dead_letters(1), isolate: false})
      unit = lane.next_unit
      assert_empty fail_at(lane, unit, 2)
    end

    # --- in parallel

    test "by key only the key of the failed record waits for its dead letter" do
      lane = rolling(%w[a b a b], dead_letters(0))
      units = [lane.next_unit, lane.next_unit]
      letters = fail_at(lane, units[0], 0)
      settled(lane, units[1])

      assert_equal [0], letters.map { |request| request.letter.offset }
      assert_equal [[3]], runs(lane), "of the other key"
      assert_equal 0, lane.committable_offset
      acknowledge(lane, letters.first)
      assert_equal [[2]], runs(lane)
      assert_equal 4, lane.committable_offset
    end

    test "nothing waits after a dead letter: neither its partition in order, nor its key" do
      [filled(2, dead_letters(0)), rolling(%w[a a], dead_letters(0))].each do |lane|
        letter = fail_at(lane, lane.next_unit, 0).first
        refute lane.waiting?, "it isn't acknowledged yet"
        acknowledge(lane, letter)
        assert_equal [[], [[1]]], [lane.holds.reasons, runs(lane)]
      end
    end

    # --- the breaker

    test "while the breaker is open no attempt is counted and no record is dead-lettered" do
      lane = filled(4, {**dead_letters(0), breaker: breaking(after: 2)})
      breaker = breaker_of(lane)
      letters = fail_at(lane, lane.next_unit, 0)
      assert_equal 1, letters.size, "one failure is no outage"
      acknowledge(lane, letters.first)
      ports = settled(lane, unit = lane.next_unit, error: RuntimeError.new, blamed: 1, results: callback_results(unit, 1))

      assert_equal [[], [:breaker], {}], [ports.letters, lane.holds.reasons, lane.attempts.to_h]
      assert_equal "breaker.opened", breaker.take_event.first
      lane.probing.release
      unit = lane.next_unit
      assert_equal [1], offsets_of(unit), "what is tried next is one record"
      settled(lane, unit)
      assert_predicate breaker, :closed?
    end

    test "a key that was completely marked before its unit opened the breaker is forgotten, so that a probe is taken" do
      lane = rolling(%w[a], {breaker: breaking(after: 1)})
      unit = lane.next_unit
      unit.marks.mark(0)
      settle(lane, unit, error: RuntimeError.new, blamed: 0)
      assert lane.holds.only?(:breaker)
      assert_equal [true, true], [lane.division.empty?, lane.probing.admits?]
    end

    # --- evidence

    # @return [Array<Processing::Failure::Breaker::Attempt>] failures reported to the breaker
    def told(lane)
      breaker = breaker_of(lane)
      [].tap { |all| breaker.define_singleton_method(:failed) { |attempt, now| all << attempt && super(attempt, now) } }
    end

    test "the first attempt of a record is evidence, a retry isn't, in order and by key" do
      [filled(1, {**dead_letters(2), breaker: breaking}), rolling(%w[a], {**dead_letters(2), breaker: breaking})].each do |lane|
        attempts = told(lane)
        2.times do
          fail_at(lane, lane.next_unit, 0)
          next_at(lane, 99_999)
        end
        assert_equal [true, false], attempts.map(&:fresh)
      end
    end

    test "a record that was marked before it failed in a retry doesn't count as fresh" do
      lane = filled(1, {**dead_letters(2), breaker: breaking})
      fail_at(lane, lane.next_unit, 0)
      next_at(lane, 99_999)
      unit = lane.next_unit
      attempts = told(lane)
      lane.marks.mark(0)
      fail_at(lane, unit, 0)
      assert_equal [false], attempts.map(&:fresh)
    end

    test "records of a retry topic aren't evidence" do
      tiers = Routing::RetryTopics.new("orders", [100], "dead", 1, "wait")
      lane = filled(2, {retry_topics: tiers, breaker: breaking(after: 2)})
      attempts = told(lane)
      fail_at(lane, lane.next_unit, 0)
      assert_equal [[false, nil]], attempts.map { |one| [one.fresh, one.number] }
    end

    test "a unit that failed as a whole has no known failed record: running its records one by one finds it" do
      lane = filled(3, {**dead_letters(2), breaker: breaking(after: 2)})
      attempts = told(lane)
      fail_at(lane, lane.next_unit, 2, cursor: false)
      next_at(lane, 99_999)
      fail_at(lane, lane.next_unit, 0)
      assert_equal [[false, [0, 3]], [true, nil]], attempts.map { |one| [one.fresh, one.unused] }
    end

    test "records that a failed unit didn't reach are numbered when they run, those it reached have begun before" do
      lane = filled(10, {**dead_letters(2), breaker: breaking})
      attempts = told(lane)
      fail_at(lane, lane.next_unit, 4)
      assert_equal [[10, [4, 6]]], attempts.map { |one| [one.number, one.unused] }
    end

    test "records that were marked before another one of their unit failed have succeeded: errors of connecting among them are " \
         "no outage" do
      lane = filled(12, {**dead_letters(0), breaker: breaking(outage_after: 2, outage_errors: %w[RuntimeError])})
      2.times do |index|
        unit = lane.next_unit
        bad = unit.messages.first_offset + 3
        lane.marks.mark(bad - 1)
        letters = fail_at(lane, unit, bad)
        assert_equal 1, letters.size, "bad record #{index + 1} is a dead letter"
        letters.each { |letter| acknowledge(lane, letter) }
      end
      assert_predicate breaker_of(lane), :closed?
    end

    test "unmarked records, and retries, don't count as a success of a failed unit" do
      lane = filled(12, {**dead_letters(2), breaker: breaking(outage_errors: %w[RuntimeError])})
      heard = []
      breaker_of(lane).define_singleton_method(:succeeded) { |**what| heard << what[:fresh] }
      fail_at(lane, lane.next_unit, 3)
      next_at(lane, 99_999)
      unit = lane.next_unit
      lane.marks.mark(0)
      fail_at(lane, unit, 0)
      assert_empty heard.reject(&:zero?)
    end

    test "with manual offsets records that a unit leaves unmarked have not succeeded" do
      lane = filled(2, {**dead_letters(0), breaker: breaking(after: 2)}, manual: true)
      breaker = breaker_of(lane)
      heard = []
      breaker.define_singleton_method(:ignores_success?) { false }
      breaker.define_singleton_method(:succeeded) { |**what| heard << what.slice(:fresh, :completed) }
      settled(lane, lane.next_unit)
      assert_equal [{fresh: 0, completed: false}], heard
    end
  end
end
