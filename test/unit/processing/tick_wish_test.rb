# frozen_string_literal: true

require "test_helper"
require "penstock/processing/tick_wish"

module Penstock
  class TickWishTest < TestCase
    test "[tick_in] the earliest of several wishes counts, and one tick serves all" do
      wish = Processing::TickWish.new
      assert_equal [true, false, false, true], [500, 500, 600, 400].map { |at| wish.add(at) }
      assert_equal [400, true, nil, false], [wish.due, wish.take, wish.due, wish.take]
      assert wish.add(900)
    end

    test "wishes of many threads leave the earliest" do
      wish = Processing::TickWish.new
      Array.new(8) { |thread| Thread.new { 500.times { |at| wish.add(10_000 - (at * 8) - thread) } } }.each(&:join)
      assert_equal [6_001, true, false], [wish.due, wish.take, wish.take]
    end
  end
end
