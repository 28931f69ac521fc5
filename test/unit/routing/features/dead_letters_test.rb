# frozen_string_literal: true

require "test_helper"
require "support/routes"

module Penstock
  class DeadLetterFeaturesTest < TestCase
    include RoutesSupport

    def topic(**, &block) = drawn(&block).find("orders")

    def drawn(with = settings, &block)
      routes(with) do
        topic(:orders) do
          consumer RoutesSupport::Consumer
          instance_exec(&block)
        end
      end
    end

    def wrong(&block) = drawn(&block).problems.map { |problem| plain(problem.to_s) }

    test "a dead letter queue has Karafka's options and defaults" do
      queue = topic { dead_letter_queue topic: "dead" }.features[:dead_letter_queue]

      assert_equal({topic: "dead", max_retries: 3, strategy: nil, independent: true, transactional: true,
                    dispatch_method: "produce_async", marking_method: "mark_as_consumed", mark_after_dispatch: nil,
                    oversized: "wait", unreadable: nil}, queue.to_h)
      assert_predicate queue, :active?
    end

    test "a topic has none by default, and nil removes one that the defaults set" do
      assert_nil topic { max_messages 1 }.features[:dead_letter_queue]
      found = routes do
        defaults { dead_letter_queue topic: "dead" }
        topic(:own) { [consumer(RoutesSupport::Consumer), dead_letter_queue(topic: nil)] }
        topic(:all) { consumer RoutesSupport::Consumer }
      end
      assert_equal [false, true], %w[own all].map { |name| found.find(name).features[:dead_letter_queue].active? }
    end

    test "all problems of a dead letter queue are reported at once" do
      found = wrong { dead_letter_queue topic: "a b", max_retries: -1, dispatch_method: :produce, retries: 2 }

      assert_equal 4, found.size, found.inspect
      %w[topic: max_retries: dispatch_method: retries].each { |name| assert(found.any? { |text| text.include?(name) }, name) }
    end

    test "topic: :strategy needs a strategy, and a strategy must be callable" do
      assert_includes wrong { dead_letter_queue topic: :strategy }.first, "needs a strategy"
      assert_includes wrong { dead_letter_queue topic: "dead", strategy: 1 }.first, "with the method call"
    end

    test "a topic isn't its own dead letter topic, and a pattern doesn't match its dead letter topic" do
      assert_includes wrong { dead_letter_queue topic: "orders" }.first, "its own dead letter topic"
      eaten = routes { pattern(:all, /ord.*/) { [consumer(RoutesSupport::Consumer), dead_letter_queue(topic: "ord.dead")] } }
      assert_includes eaten.problems.join, "also matches its dead letter topic"
    end

    test "an inactive topic may get its own name from `defaults`: nothing is consumed from it" do
      said = [-> { dead_letter_queue topic: "dead" }, -> { retry_topics delays: [1_000], finally: "dead" }]
      said.each do |letters|
        found = routes do
          topic(:orders) { consumer RoutesSupport::Consumer }
          topic(:dead) { active false }
          defaults(&letters)
        end
        assert_empty found.problems
      end
    end

    test "retry topics are consumed by the same route, each with its own tier" do
      found = drawn { retry_topics delays: [1_000, 5_000], finally: "dead" }
      tiers = %w[orders orders.retry.1 orders.retry.2].map { |name| found.find(name).features[:retry_topics] }

      assert_equal [0, 1, 2], tiers.map(&:tier)
      assert_equal %w[orders.retry.1 orders.retry.2 dead], tiers.map { |tier| tier.of("orders").following }
      assert_equal [1_000, 5_000, nil], tiers.map(&:delay_ms)
      assert_equal RoutesSupport::Consumer, found.find("orders.retry.2").consumer
    end

    test "retry topics use the separator of their topic" do
      assert_equal %w[a_b_retry_1], Routing::RetryTopics.new("a_b", [1], false, 0).names
      assert_equal %w[a-b-retry-1], Routing::RetryTopics.new("a-b", [1], false, 0).names
    end

    test "retry topics with a dead letter queue, a pattern, or invalid values are refused" do
      found = wrong { [retry_topics(delays: [1], finally: true), dead_letter_queue(topic: "dead")] }
      assert_equal 2, found.size, found.inspect
      assert_includes wrong { retry_topics delays: [], finally: "dead" }.first, "an Array of 1 to 10 waits"
    end

    test "unreadable is a number of retries, not above max_retries and not with a strategy" do
      assert_equal 0, topic { dead_letter_queue topic: "dead", unreadable: 0 }.features[:dead_letter_queue].unreadable
      assert_equal 1, topic { retry_topics delays: [1, 2], finally: "dead", unreadable: 1 }.features[:retry_topics].unreadable
      assert_includes wrong {
        dead_letter_queue topic: "dead", unreadable: true
      }.first, "unreadable: must be an Integer of at least 0"
      assert_includes wrong { dead_letter_queue topic: "dead", max_retries: 1, unreadable: 2 }.first,
        "unreadable: (2) is above max_retries: (1)"
      assert_includes wrong { dead_letter_queue topic: "dead", strategy: ->(_errors, _attempt) {}, unreadable: 0 }.first,
        "has both unreadable: and strategy:"
    end

    test "oversized takes one of its names, and only if there are letters" do
      found = wrong { dead_letter_queue topic: "dead", oversized: :drop }
      assert_equal [true, true], [found.first.include?("oversized:"), found.first.include?('"wait" or "reference"')], found.first
      assert_includes wrong { dead_letter_queue topic: false, oversized: :reference }.first, "has no topic"
      assert_includes wrong { retry_topics delays: [1], finally: false, oversized: :reference }.first, "has no topic for a record"
      assert topic { retry_topics delays: [1], finally: "dead", oversized: :reference }.features[:retry_topics].reference?
      refute topic { dead_letter_queue topic: "dead" }.features[:dead_letter_queue].reference?
    end

    test "a retry topic isn't its own dead letter topic" do
      assert_includes wrong { retry_topics delays: [1, 2], finally: "orders.retry.2" }.first, "its own dead letter topic"
    end

    test "backoff_for can be used several times, with options or a block" do
      entries = topic do
        backoff_for ArgumentError, timeout: 50
        backoff_for([IOError, KeyError]) { |_error, attempt| attempt * 10 }
      end.features[:backoff_for]

      assert_equal [[ArgumentError], [IOError, KeyError]], entries.map(&:errors)
      assert_equal [50, 30], [entries.first.timeout, entries.last.with.call(nil, 3)]
      assert entries.first.for?(UncaughtThrowError.new(:tag, 1, "x"))
    end

    test "backoff_for takes error classes" do
      assert_includes wrong { backoff_for "Timeout" }.first, "an exception class"
    end

    test "errors of outages are classes or names; a name may be of a class that isn't loaded" do
      lazy = Module.new { autoload :Down, "/nowhere/down" }
      Penstock.const_set(:LazyErrors, lazy)
      names = ["::IOError", "Nowhere::Down", "Penstock::LazyErrors::Down", "not a constant"]
      found = topic { breaker(outage_errors: [KeyError, *names]) }.features[:breaker]

      assert_equal ["KeyError", "IOError", *names.drop(1)], found.outage_errors
    ensure
      Penstock.__send__(:remove_const, :LazyErrors)
    end

    test "breaker, quarantine and isolate take false" do
      found = topic { [breaker(false), quarantine(false), isolate(false)] }.features

      assert_equal [false, false, false], found.values_at(:breaker, :quarantine, :isolate)
      assert_equal [4, 5], topic { [breaker(after: 4), quarantine(max_crashes: 5)] }.features.values_at(:breaker, :quarantine)
        .map { |value| value.to_a.first }
    end
  end
end
