# frozen_string_literal: true

require "test_helper"
require "penstock"
require "support/virtual_clock"
require "penstock/delays/hop_clock"

module Penstock
  class HopClockTest < TestCase
    def setup
      super
      @clock = VirtualClock.new
      @hop = Delays::HopClock.new(@clock, CautiousClock.start(@clock))
      @due = @clock.wall_ms + 3_600_000
    end

    # With the readings of a poll loop.
    def watch(duration_ms)
      (duration_ms / 1_000).times { @clock.advance(1_000).then { @hop.left_ms(@due) } }
      @clock.advance(duration_ms % 1_000)
    end

    test "a clock that isn't set: the time left" do
      @clock.advance(3_599_000)
      assert_equal 1_000, @hop.left_ms(@due)
      assert_equal 0, @hop.tap { @clock.advance(1_000) }.left_ms(@due)
    end

    test "a clock that jumps ahead delivers nothing for a minute, and looks again soon; then it is believed" do
      @clock.jump_wall(7_200_000)
      assert_equal 60_000, @hop.left_ms(@due)
      assert_operator @hop.left_ms(@due - 3_600_000), :<=, 0, "what was due before the jump is due"

      watch(59_999)
      assert_operator @hop.left_ms(@due), :>, 0
      @clock.advance(1)
      assert_operator @hop.left_ms(@due), :<=, 0
    end

    test "what has to wait longer is due by the time that is trusted, not by the clock that jumped" do
      trusted = @clock.wall_ms
      @clock.jump_wall(7_200_000)
      assert_equal trusted, @hop.wall_ms
      watch(60_000)
      assert_equal @clock.wall_ms, @hop.tap { |hop| hop.left_ms(@due) }.wall_ms
    end

    test "a clock that jumps ahead and back has changed nothing" do
      @clock.jump_wall(7_200_000)
      @hop.left_ms(@due)
      @clock.jump_wall(-7_200_000)
      @clock.advance(120_000)
      assert_equal 3_480_000, @hop.left_ms(@due)
    end

    test "small corrections and rounding don't count as a jump; a clock that is set back is believed at once" do
      @clock.jump_wall(1_000)
      assert_equal 3_599_000, @hop.left_ms(@due)
      @clock.jump_wall(-600_000)
      assert_equal 4_199_000, @hop.left_ms(@due)
    end
  end
end
