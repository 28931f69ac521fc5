# frozen_string_literal: true

require "test_helper"
require "penstock/errors"
require "penstock/processing/backoff"
require "penstock/processing/failure/breaker"
require "penstock/routing/features/breaker"

module Penstock
  class BreakerTest < TestCase
    Failure = Processing::Failure

    def breaker(after: 10, outage_after: 3)
      Failure::Breaker.new(Routing::Breaker.new(after, outage_after, Routing::Features::Breaker::OUTAGE_ERRORS),
        Processing::Backoff.new(1_000, 30_000, true))
    end

    def opened(now: 0) = breaker(after: 2).tap { |one| 2.times { |offset| one.failed(offset, RuntimeError.new, now) } }

    test "ten different records in a row that fail with one class open it" do
      one = breaker
      verdicts = Array.new(10) { |offset| one.failed(offset, RuntimeError.new, 5) }

      assert_equal [:counted] * 9 + [:opened], verdicts
      assert_equal [:open, 2_005, "RuntimeError"], [one.state, one.due, one.cause]
    end

    test "the same record failing again and again opens nothing" do
      one = breaker
      40.times { assert_equal :counted, one.failed("orders/0/7", RuntimeError.new, 0) }
      assert_equal 1, one.streak
    end

    test "another class begins another row, and so does a success" do
      one = breaker(after: 3)
      2.times { |offset| one.failed(offset, RuntimeError.new, 0) }
      one.failed(2, KeyError.new, 0)
      assert_equal 1, one.streak
      one.succeeded
      assert_equal 0, one.streak
    end

    test "connection errors open it at the third different record, by the name of the class or of one above it" do
      [Errno::ECONNREFUSED.new, Class.new(Timeout::Error).new].each do |error|
        one = breaker
        assert_equal %i[counted counted], [one.failed(1, error, 0), one.failed(2, error, 0)]
        assert_equal :opened, one.failed(3, error, 0) if error.class.name
      end
    end

    test "an error of the record itself never counts" do
      one = breaker(after: 2)
      error = DeserializationError.new(topic: "t", partition: 0, offset: 1)
      5.times { |offset| assert_equal :counted, one.failed(offset, error, 0) }
      assert_equal 0, one.streak
    end

    test "while it is open one record at a time probes, rotating over the lanes, with longer and longer waits" do
      one = opened
      turns = []
      now = 0
      4.times do
        assert_nil one.probe(%w[a b c], one.due - 1)
        now = one.due
        turns << one.probe(%w[a b c], now)
        assert_nil one.probe(%w[a b c], now), "one at a time"
        assert_equal :held, one.failed(turns.last, RuntimeError.new, now)
      end
      assert_equal %w[a b c a], turns
      assert_equal now + 30_000, one.due
    end

    test "what still ran when it opened and fails is held, without making the wait longer" do
      one = opened
      due = one.due
      assert_equal :held, one.failed(9, KeyError.new, 10)
      assert_equal due, one.due
    end

    test "the first success closes it" do
      one = opened
      one.probe(["a"], one.due)
      assert one.succeeded
      assert_predicate one, :closed?
      refute one.succeeded
    end

    test "a probe that never ended is sent again, a poisonous one is followed by the next at once" do
      one = opened
      one.probe(["a"], one.due)
      one.probe_lost
      assert_equal "a", one.probe(["a"], one.due)
      one.failed("a", DeserializationError.new(topic: "t", partition: 0, offset: 1), 7)
      assert_equal [:open, 7], [one.state, one.due]
    end
  end
end
