# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/log/call_times"

module Penstock
  class CallTimesTest < TestCase
    CallTimes = Instrumentation::Log::CallTimes

    test "percentiles of any durations are off by at most 7 %" do
      random = Random.new(7)
      20.times do |scale|
        times = CallTimes.new
        exact = Array.new(501) { random.rand * (2**scale) }.sort
        exact.shuffle(random: random).each { |time| times.record(time) }
        [[0.5, 250], [0.95, 475], [1.0, 500]].each do |share, index|
          assert_in_delta exact[index], times.percentile(share), (exact[index] * 0.07) + 0.001, "2**#{scale} #{share}"
        end
      end
    end

    test "one duration is its own percentile, as far as it is recorded, and an empty histogram has 0" do
      times = CallTimes.new

      assert_equal 0.0, times.percentile(0.5)
      times.record(1.2)
      assert_in_delta 1.2, times.percentile(0.95), 0.08
      assert_operator times.percentile(0.95), :<=, 1.2
    end

    test "durations without bounds are recorded" do
      times = CallTimes.new
      [-1.0, 0.0, 0.0004, 10.0**12].each { |time| times.record(time) }

      assert_equal 4, times.count
      assert_operator times.percentile(1.0), :>, 10.0**8
    end

    test "recording allocates nothing" do
      times = CallTimes.new
      times.record(1.0)
      before = GC.stat(:total_allocated_objects)
      1_000.times { times.record(3.7) }

      assert_operator GC.stat(:total_allocated_objects) - before, :<, 20
    end
  end
end
