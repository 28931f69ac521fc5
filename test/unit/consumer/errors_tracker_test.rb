# frozen_string_literal: true

require "test_helper"
require "penstock/consumer/errors_tracker"

module Penstock
  class ErrorsTrackerTest < TestCase
    test "[errors_tracker] it keeps the last hundred errors, counts them by class, and forgets them with a success" do
      tracker = Consumer::ErrorsTracker.new("orders", 3)
      tracker << RuntimeError.new("first")
      first = tracker.trace_id
      104.times { |index| tracker << ((index < 103) ? RuntimeError.new((index + 1).to_s) : KeyError.new("last")) }

      assert_equal [100, "5", "last"], [tracker.size, tracker.first.message, tracker.last.message]
      assert_equal({RuntimeError => 104, KeyError => 1}, tracker.counts)
      assert_equal [first, "orders", 3], [tracker.trace_id, tracker.topic, tracker.partition]
      tracker.clear
      assert_predicate tracker, :empty?
      assert_nil tracker.last
      refute_equal first, tracker.trace_id
    end
  end
end
