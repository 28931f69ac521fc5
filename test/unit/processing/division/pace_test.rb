# frozen_string_literal: true

require "test_helper"
require "penstock/processing/division/pace"

module Penstock
  class PaceTest < TestCase
    def pace(width = 10, window: 1_000)
      Processing::Division::Pace.new.tap { |pace| pace.resize(width, window) }
    end

    def record(pace, count, time_us, records = 1)
      count.times { pace.record(time_us, records) }
      pace
    end

    test "units are handed out for ten milliseconds in advance, one more after each that ended, and fewer at once if they are slow" do
      pace = pace()
      assert_equal [12, nil], [pace.look_ahead, pace.low_mark]
      record(pace, 200, 1_000)
      assert_equal [100, 50], [pace.look_ahead, pace.low_mark]
      record(pace, 3, 60_000)
      assert_equal [12, nil], [pace.look_ahead, pace.low_mark]
    end

    test "units of many records, and lanes that share the workers, have fewer units handed out in advance" do
      shared = pace
      shared.sharing = 5

      assert_equal [25, 20], [record(pace, 200, 1_000, 4), record(shared, 200, 1_000)].map(&:look_ahead)
    end

    test "of quick units most are handed out in advance, but no more than half of the window" do
      assert_equal([512, 490, 40, 12], [5_000, 1_000, 100, 20].map { |window| record(pace(window: window), 1_000, 1).look_ahead })
    end

    test "units count as quick when they take less than a second worker would need to begin" do
      assert_equal [false, true], [pace, record(pace, 50, 20)].map(&:quick?)
    end
  end
end
