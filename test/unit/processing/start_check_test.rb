# frozen_string_literal: true

require "test_helper"
require "penstock/processing/start_check"

module Penstock
  class StartCheckTest < TestCase
    def judge(*places, low: nil, to_end: false)
      check = Processing::StartCheck.new
      check.to_end = to_end
      [*places.map { |place| check.judge(place, 100, low) }, check.confirmed?]
    end

    test "a source that begins at the committed offset confirms it" do
      assert_equal [:accept, true], judge(100)
      assert_equal [:accept, true], judge(100, low: 90)
    end

    test "a source that begins later is moved back, and has a gap there if it begins there again, or still later" do
      assert_equal [:seek, false], judge(103)
      assert_equal [:seek, :accept, true], judge(103, 103)
      assert_equal [:seek, :accept, true], judge(103, 105)
    end

    test "a source that begins earlier, or that begins earlier than before after it was moved back, contradicts the offset" do
      assert_equal [:ask, false], judge(99)
      [102, 100, 99].each { |place| assert_equal [:seek, :ask, false], judge(103, place) }
    end

    test "where retention has deleted the offset the source begins at the low watermark, or at the end if the route does" do
      assert_equal [:accept, true], judge(150, low: 150)
      assert_equal [:seek, :accept, true], judge(203, 203, low: 150)
      assert_equal [:accept, true], judge(203, low: 150, to_end: true)
      assert_equal [:seek, false], judge(203, low: 90, to_end: true)
      check = Processing::StartCheck.new
      assert_equal [150, 100, 100], [check.target(100, 150), check.target(100, 90), check.target(100, nil)]
    end

    test "without a committed offset, and once confirmed, every place is accepted" do
      check = Processing::StartCheck.new
      assert_equal [:accept, true], [check.judge(5, nil, 0), check.confirmed?]
      assert_equal %i[accept accept], [check.judge(200, 100, 0), check.judge(3, 100, 0)]
    end

    test "the place of a source that contradicts the offset is remembered" do
      check = Processing::StartCheck.new
      check.judge(103, 100, nil)
      assert_nil check.place
      check.judge(101, 100, nil)
      assert_equal 101, check.place
    end
  end
end
