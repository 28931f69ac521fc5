# frozen_string_literal: true

require "test_helper"
require "penstock/reading/last_records"
require "support/fake_reading"

module Penstock
  # Where the last N records begin.
  class ReadingLastRecordsTest < TestCase
    def connection(logs, **options) = TestSupport::FakeReading.new(logs, **options)

    test "[iterator modes] property: the last N that exist are found in any log with gaps, with bounded work" do
      random = Random.new(11)
      100.times do
        density = [0.001, 0.05, 0.5, 0.99].sample(random: random)
        offsets = (0...random.rand(1..6_000)).select { random.rand < density }
        high = (offsets.last || -1) + 1 + random.rand(0..900)
        count = random.rand(1..40)
        fake = connection({["t", 0] => TestSupport::FakeReading::Log.new(offsets, 0, high)}, slice: 100)
        from = Reading::LastRecords.new(fake).find({["t", 0] => [0, high, count]}).fetch(["t", 0])

        assert_equal offsets.last(count), offsets.select { |offset| offset >= from }
        reached = high - (5 * (high - from)) - 500 # the earlier windows, and one that is four times as large as the last of them
        assert_operator fake.taken, :<=, offsets.count { |one| one >= reached } + (8 * 100), "and a batch more per window"
        assert_empty fake.assigned
      end
    end

    test "nothing is read where there are no more offsets than records are wanted" do
      fake = connection({["t", 0] => [3, 5, 6]})

      assert_equal({["t", 0] => 3}, Reading::LastRecords.new(fake).find({["t", 0] => [3, 7, 100]}))
      assert_equal 0, fake.taken
    end

    test "all partitions are searched at the same time, each as far as it needs" do
      sparse = (0...4_000).step(100).to_a
      fake = connection({["t", 0] => sparse, ["t", 1] => (0...4_000).to_a}, slice: 1_000)
      found = Reading::LastRecords.new(fake).find({["t", 0] => [0, 4_000, 10], ["t", 1] => [0, 4_000, 10]})

      assert_equal({["t", 0] => 3_000, ["t", 1] => 3_990}, found)
    end

    test "without any record before it, the beginning is the result" do
      fake = connection({["t", 0] => TestSupport::FakeReading::Log.new([], 10, 9_000)})

      assert_equal({["t", 0] => 10}, Reading::LastRecords.new(fake).find({["t", 0] => [10, 9_000, 5]}))
    end
  end
end
