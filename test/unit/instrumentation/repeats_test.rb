# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/repeats"

class RepeatsTest < Penstock::TestCase
  def setup
    @repeats = Penstock::Instrumentation::Repeats.new(30_000)
  end

  test "the first of a kind is reported at once, its repetitions every 30 s with their number" do
    told = [0, 50, 29_999, 30_000, 30_001, 60_000].map { |now| @repeats.count(:down, now) }

    assert_equal [1, nil, nil, 3, nil, 2], told
  end

  test "different kinds are reported separately" do
    assert_equal [1, 1, nil], [@repeats.count(:down, 0), @repeats.count(:login, 1), @repeats.count(:down, 2)]
  end

  test "it is fresh as long as a second line would be unnecessary" do
    refute @repeats.fresh?(0)
    @repeats.count(:down, 100)

    assert_equal [true, true, false], [100, 30_099, 30_100].map { |now| @repeats.fresh?(now) }
    assert_equal 100, @repeats.reported_at
  end
end
