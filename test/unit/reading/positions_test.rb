# frozen_string_literal: true

require "test_helper"
require "penstock/reading/positions"
require "support/fake_reading"

module Penstock
  # From what is wanted of partitions to offsets.
  class ReadingPositionsTest < TestCase
    Wanted = Reading::Positions::Wanted
    Last = Reading::Positions::Last

    def log = @log ||= TestSupport::FakeReading::Log.new((3...20).to_a, 3, 20, {3 => 1_000, 8 => 2_000, 15 => 3_000})

    def range(start, stop = nil, follow: false)
      fake = TestSupport::FakeReading.new({["t", 0] => log})
      part = Reading::Positions.new(fake, follow: follow).parts([Wanted.new("t", 0, start, stop, :earliest)]).first
      [part.from, part.to]
    end

    test "[iterator modes] offsets, :earliest, :latest, times and the last N become ranges that end where the log ends now" do
      assert_equal [[3, 20], [20, 20], [7, 20], [3, 20], [15, 20]],
        [range(:earliest), range(:latest), range(7), range(0), range(Last.new(5))]
      assert_equal [[8, 20], [8, 20], [8, 20], [3, 20]],
        [range(Time.at(2)), range(Time.at(1, 1, :millisecond)), range(Time.at(1, 1, :microsecond)), range(Time.at(1))]
    end

    test "[iterator modes] a time that Kafka can't have is the next one that it can: before 1970 nothing is left out" do
      assert_equal [[3, 20], [3, 20], [20, 20]], [range(Time.at(-0.001r)), range(Time.at(-9)), range(Time.at(10**17))]
    end

    test "[iterator modes] a time after the last record begins at the end" do
      assert_equal [20, 20], range(Time.at(4))
      assert_equal [20, nil], range(Time.at(4), follow: true)
    end

    test "an end is an offset or a time, and never after the log's" do
      assert_equal [[5, 9], [5, 20], [3, 8], [3, 20]],
        [range(5, 9), range(5, 90), range(:earliest, Time.at(2)), range(:earliest, Time.at(9))]
      assert_equal [4, 9], range(Last.new(5), 9), "the last before the end"
    end

    test "what follows has no end, except one that was named" do
      assert_equal [[3, nil], [5, 90], [25, nil], [15, nil]],
        [range(:earliest, follow: true), range(5, 90, follow: true), range(25, follow: true), range(Last.new(5), follow: true)]
    end

    test "a commit is where a range begins; without one it begins where it would otherwise" do
      assert_equal [3, 20], range(:committed)
      log.committed = 11
      assert_equal [11, 20], range(:committed)
      log.committed = 1
      assert_equal [3, 20], range(:committed), "records before the log's beginning are gone"
    end

    test "a commit beyond the end of the log is of another log: the range begins where it would without a commit" do
      log.committed = 20
      assert_equal [[20, 20], [20, nil]], [range(:committed), range(:committed, follow: true)]
      log.committed = 21
      assert_equal [[3, 20], [3, nil]], [range(:committed), range(:committed, follow: true)]
      log.open_to = 25
      assert_equal [21, nil], range(:committed, follow: true), "beyond an open transaction"
      log.committed = 26
      assert_equal [3, nil], range(:committed, follow: true)
    end
  end
end
