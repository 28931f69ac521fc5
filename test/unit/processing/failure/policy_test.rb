# frozen_string_literal: true

require "test_helper"
require "support/routes"
require "penstock/processing/failure/policy"

module Penstock
  class FailurePolicyTest < TestCase
    include RoutesSupport

    Policy = Processing::Failure::Policy

    def policy(name = "orders", &block)
      found = routes do
        topic(:orders) do
          consumer RoutesSupport::Consumer
          instance_exec(&block) if block
        end
      end
      assert_empty found.problems
      Policy.new(found.find(name))
    end

    def dead(topic) = Policy::Destination.new(topic, :dead_letter)

    test "by default records are retried forever" do
      assert_equal %i[retry retry], [policy.after(1), policy.after(1_000)]
      refute_predicate policy, :removes_records?
      assert_nil policy.breaker
      assert_nil policy.quarantine
    end

    test "[DLQ retries] max_retries 2 means three runs, and then the dead letters" do
      one = policy { dead_letter_queue topic: "dead", max_retries: 2 }
      assert_equal [:retry, :retry, dead("dead")], (1..3).map { |attempt| one.after(attempt) }
    end

    test "[DLQ zero retries] max_retries 0 means one run" do
      one = policy { dead_letter_queue topic: "dead", max_retries: 0 }
      assert_equal dead("dead"), one.after(1)
    end

    test "[DLQ topic false] a record is skipped after its retries" do
      one = policy { dead_letter_queue topic: false, max_retries: 1 }
      assert_equal %i[retry skip], [one.after(1), one.after(2)]
    end

    test "[DLQ strategy] the strategy decides at each failure, also about the topic" do
      one = policy { dead_letter_queue topic: "dead", strategy: ->(_errors, _attempt) {} }
      assert_equal [:retry, :skip, dead("dead"), dead("other")],
        [[:retry], [:skip], [:dispatch], [:dispatch, "other"]].map { |answer| one.after(99, answer) }
      assert_equal :retry, one.after(99, nil), "one that raised doesn't lose the record"
    end

    test "[DLQ MOM default] with manual offsets a dead letter marks nothing unless it is configured" do
      manual = policy { [manual_offset_management(true), dead_letter_queue(topic: "dead")] }
      asked = policy { [manual_offset_management(true), dead_letter_queue(topic: "dead", mark_after_dispatch: true)] }
      assert_equal [false, true, true],
        [manual.complete?, asked.complete?, policy { dead_letter_queue topic: "dead" }.complete?]
    end

    test "[DLQ sync modes] mark_as_consumed! commits at once" do
      assert policy { dead_letter_queue topic: "dead", marking_method: :mark_as_consumed!, dispatch_method: :produce_sync }
        .commit_at_once?
    end

    test "retry topics lead from one to the next and then to the dead letters" do
      draw = -> { retry_topics delays: [10, 20], finally: "dead" }
      assert_equal [Policy::Destination.new("orders.retry.1", :retry, 10), Policy::Destination.new("orders.retry.2", :retry, 20),
        dead("dead")], %w[orders orders.retry.1 orders.retry.2].map { |name| policy(name, &draw).after(1) }
      assert_equal %w[orders.retry.1 orders.retry.2 dead], policy(&draw).topics
      assert_equal :skip, policy("orders.retry.1") { retry_topics delays: [10], finally: false }.after(1)
    end

    test "breaker and quarantine are on by default where records are dead-lettered, and can be switched" do
      one = policy { dead_letter_queue topic: "dead" }
      assert_equal [20, 0.5, 3, 300_000], one.breaker.to_h.values_at(:after, :share, :outage_after, :limit)
      assert_equal 3, one.quarantine.max_crashes
      off = policy { [dead_letter_queue(topic: "dead"), breaker(false), quarantine(false)] }
      assert_equal [nil, nil], [off.breaker, off.quarantine]
      assert_equal 4, policy { breaker after: 4 }.breaker.after
    end

    test "[granular backoff] the wait depends on the class of the error, the first match, else on the topic" do
      backoffs = policy do
        pause timeout: 100, max_timeout: 400
        backoff_for KeyError, timeout: 10, exponential: false
        backoff_for(IndexError) { |error, attempt| (error.message == "nil") ? nil : attempt * 7 }
      end.backoffs
      asked = ->(error, attempt) { backoffs.delay_ms(error, attempt, backoffs.call_block(error, attempt)) }

      assert_equal [10, 21, 200, 400, 400], [asked.call(KeyError.new, 5), asked.call(IndexError.new("x"), 3),
        asked.call(RuntimeError.new, 1), asked.call(RuntimeError.new, 2), asked.call(RuntimeError.new, 9)]
      assert_equal 2_000, asked.call(IndexError.new("nil"), 1)
    end

    test "a block that returns no number, or one without an end, raises an error that names it" do
      ["soon", Float::INFINITY, Float::NAN, 1i].each do |answer|
        backoffs = policy { backoff_for(KeyError) { |_error, _attempt| answer } }.backoffs
        assert_equal "backoff_for: return ms as a finite number, not #{answer.inspect}",
          assert_raises(TypeError) { backoffs.call_block(KeyError.new, 1) }.message
      end
    end
  end
end
