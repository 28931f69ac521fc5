# frozen_string_literal: true

require "test_helper"
require "support/routes"

class RoutingDeadLetterCyclesTest < Penstock::TestCase
  include RoutesSupport

  # A route with these dead letters.
  ROUTE = lambda do |scope, name, letters, **options|
    scope.topic(name, **options) do
      consumer RoutesSupport::Consumer
      dead_letter_queue topic: letters unless letters.nil?
    end
  end

  def cycles(&block) = problems(&block).grep(/come back/)

  test "dead letters that come back to their topic are a problem, which names the cycle and the way out" do
    found = cycles do
      ROUTE.call(self, "a", "b")
      ROUTE.call(self, "b", "a")
    end

    assert_equal ["routes: topic a, consumer_group app: its dead letters come back to it (a → b → a): a record that always " \
      "fails would be copied again and again. Give one of these routes a dead letter topic that isn't consumed, or whose " \
      "records are skipped when they fail (topic: false, or finally: false)"], found
  end

  test "a cycle may pass several groups, and is reported once; routes before it aren't part of it" do
    found = cycles do
      ROUTE.call(self, "start", "a")
      consumer_group(:one) { ROUTE.call(self, "a", "b") }
      consumer_group(:two) { ROUTE.call(self, "b", "c") }
      consumer_group(:three) { ROUTE.call(self, "c", "a") }
    end

    assert_equal 1, found.size
    assert_includes found.first, "topic a, consumer_group one: its dead letters come back to it (a → b → c → a)"
  end

  test "retry topics lead to their `finally`" do
    found = cycles do
      topic("a") do
        consumer RoutesSupport::Consumer
        retry_topics delays: [1_000, 5_000], finally: "b"
      end
      ROUTE.call(self, "b", "a.retry.1")
    end

    assert_equal 1, found.size
    assert_match(/b → a\.retry\.1 → b|a\.retry\.1 → b → a\.retry\.1/, found.first)
  end

  test "a pattern reads the topics that it matches, except those that its group names" do
    found = cycles do
      pattern(/\Ax\./) do
        consumer RoutesSupport::Consumer
        dead_letter_queue topic: "b"
      end
      consumer_group(:other) { ROUTE.call(self, "b", "x.1") }
    end
    named = cycles do
      pattern(/\Ax\./) do
        consumer RoutesSupport::Consumer
        dead_letter_queue topic: "b"
      end
      ROUTE.call(self, "x.1", "dead")
      consumer_group(:other) { ROUTE.call(self, "b", "x.1") }
    end

    assert_includes found.first, "(x.1 → b → x.1)"
    assert_empty named
  end

  test "chains that end aren't a problem: at a topic that isn't consumed, without dead letters, or whose records are skipped" do
    assert_empty(cycles do
      ROUTE.call(self, "a", "b")
      ROUTE.call(self, "b", false)
      ROUTE.call(self, "c", "d")
      ROUTE.call(self, "d", nil)
      ROUTE.call(self, "e", "f")
      topic("f") do
        active false
        dead_letter_queue topic: "e"
      end
    end)
  end
end
