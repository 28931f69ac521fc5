# frozen_string_literal: true

require "test_helper"
require "penstock/processing/rate"

module Penstock
  class RateTest < TestCase
    test "there is room for the limit in any interval, and again when what used it is an interval old" do
      rate = Processing::Rate.new(3, 1_000)
      assert_equal 3, rate.room(0)
      rate.count(2, 0)
      rate.count(1, 500)
      assert_equal [0, 1_000], [rate.room(999), rate.next_room_ms]
      assert_equal [2, 1_500], [rate.room(1_000), rate.next_room_ms]
      assert_equal 3, rate.room(1_500)
    end

    test "no interval has more than the limit, at any times, and few numbers are kept" do
      random = Random.new(11)
      30.times do
        limit, interval = random.rand(1..50), random.rand(1..2_000)
        rate, now, times = Processing::Rate.new(limit, interval), 0, []
        300.times do
          count = [random.rand(limit + 1), rate.room(now)].min
          rate.count(count, now)
          times.concat([now] * count)
          now += random.rand(0..(interval / 3))
        end
        times.each_cons(limit + 1) { |window| assert_operator window.last - window.first, :>=, interval }
        assert_operator rate.instance_variable_get(:@entries).size, :<=, 40
      end
    end
  end
end
