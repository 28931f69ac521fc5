# frozen_string_literal: true

require "test_helper"
require "support/failing"
require "penstock/execution/failure_handler"
require "penstock/instrumentation/monitor"

module Penstock
  # The consequences in `error.occurred` must be those that the deciders have.
  class ForecastTest < TestCase
    include TestSupport::Failing

    Forecast = Processing::Failure::Forecast

    def forecast(lane, unit, error = RuntimeError.new("no"), blamed: unit.messages.first_offset, critical: [], cursor: true)
      unit.messages.cursor = unit.messages.offsets.index(blamed) if cursor
      monitor = Instrumentation::Monitor.new
      Execution::FailureHandler.new(monitor: monitor, clock: nil, producer: nil, critical: critical).forecast(unit, error, blamed)
    end

    def first(features, count: 1, **more)
      lane = filled(count, features)
      forecast(lane, lane.next_unit, **more)
    end

    test "without dead letters a record is tried again, after the back-off, without a limit" do
      assert_equal({next: :retry, retry_in_ms: 2_000}, first({}))
    end

    test "with dead letters each attempt has its number's consequence: what the deciders do" do
      lane = filled(1, dead_letters(2))
      found = Array.new(3) do |attempt|
        unit = lane.next_unit
        forecast(lane, unit).tap do |said|
          sent = fail_at(lane, unit, 0, now: attempt * 60_000)
          assert_equal said[:next] == :dead_letter, !sent.empty?
          lane.holds.release(:retry)
        end
      end

      assert_equal [{next: :retry, retry_in_ms: 2_000, attempts: 3}, {next: :retry, retry_in_ms: 4_000, attempts: 3},
        {next: :dead_letter, to: "dead", attempts: 3}], found
    end

    test "retry topics, skipped records, strategies, and blocks that decide about the back-off" do
      tiers = Routing::RetryTopics.new("orders", [5_000, 60_000], "dead", 0, "wait")
      asks = Routing::BackoffFor.new([RuntimeError], 1_000, 30_000, true, ->(_error, _attempt) { flunk "asked" })

      assert_equal({next: :retry_topic, to: "orders.retry.1"}, first({retry_topics: tiers}))
      assert_equal({next: :dead_letter, to: "dead"}, first({retry_topics: tiers.at(2)}))
      assert_equal({next: :skip, attempts: 1}, first(dead_letters(0, topic: false)))
      assert_equal({next: :strategy}, first(dead_letters(0, strategy: ->(*) { flunk "asked" })))
      assert_equal({next: :retry}, first({backoff_for: [asks]}))
    end

    test "if it isn't known which of several records failed, they are tried again" do
      assert_equal :retry, first(dead_letters(0), count: 3, cursor: false)[:next]
      assert_equal :dead_letter, first(dead_letters(0), count: 3, blamed: 1)[:next]
    end

    test "errors that count for no attempt, stop the process, or come after a revocation" do
      lane = filled(1, dead_letters(0))
      unit = lane.next_unit

      assert_equal({next: :again}, forecast(lane, unit, AssignmentLostError.new))
      assert_equal({next: :stop}, forecast(lane, unit, NoMemoryError.new, critical: [NoMemoryError]))
      lane.end_ownership!
      assert_equal({next: :next_owner}, forecast(lane, unit))
    end

    test "while a breaker is open a record is held, unless the error is the record's own" do
      lane = filled(1, dead_letters(0).merge(breaker: breaking(outage_after: 1, outage_errors: ["RuntimeError"])))
      lane.instance_variable_set(:@breaker, breaker_of(lane))
      unit = lane.next_unit
      settled(lane, unit, error: RuntimeError.new("no"), blamed: 0)

      refute_predicate lane.breaker, :closed?
      assert_equal({next: :held}, forecast(lane, unit))
      assert_equal :dead_letter, forecast(lane, unit, QuarantinedError.new(crashes: 3))[:next]
    end

    test "a failure's place: its record only if that is known, and the attempt of that record" do
      unit = filled(3, {}).next_unit
      unit.attempt = 4
      assert_equal({first_offset: 0, last_offset: 2, attempt: 4}, Forecast.place(unit, 2))
      unit.messages.cursor = 1
      assert_equal({first_offset: 0, last_offset: 2, attempt: 1, offset: 1}, Forecast.place(unit, 1))
      unit.messages.cursor = 0
      assert_equal({first_offset: 0, last_offset: 2, attempt: 4, offset: 0}, Forecast.place(unit, 0))
    end
  end
end
