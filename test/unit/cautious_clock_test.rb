# frozen_string_literal: true

require "test_helper"
require "penstock/cautious_clock"
require "support/virtual_clock"

module Penstock
  class CautiousClockTest < TestCase
    HOUR_MS = 3_600_000
    WINDOW_MS = 60_000

    def setup
      super
      @clock = VirtualClock.new
      @cautious = CautiousClock.start(@clock)
    end

    # @return [Integer] by how much the trusted time is earlier than the wall clock
    def doubted(window_ms = WINDOW_MS) = @clock.wall_ms - @cautious.call(@clock.monotonic_ms, @clock.wall_ms, window_ms)

    def read = @cautious.read(@clock.monotonic_ms, @clock.wall_ms)

    # As an idle poll loop does.
    def watch(duration_ms)
      (duration_ms / 1_000).times do
        @clock.advance(1_000)
        read
      end
      @clock.advance(duration_ms % 1_000)
    end

    test "trusted: a clock that isn't set is the wall clock, however long nobody reads it" do
      assert_equal 0, doubted
      @clock.advance(30 * 86_400_000)
      assert_equal 0, doubted
    end

    test "ahead: a jump isn't trusted before it was seen for the window, which each caller chooses" do
      @clock.jump_wall(HOUR_MS)
      assert_equal [HOUR_MS, HOUR_MS], [doubted, doubted(1_000)]
      watch(1_000)
      assert_equal [HOUR_MS, 0], [doubted, doubted(1_000)]
      watch(WINDOW_MS - 1_001)
      assert_equal HOUR_MS, doubted
      @clock.advance(1)
      assert_equal [0, 86_399_000], [doubted, @clock.jump_wall(86_399_000).then { doubted }]
    end

    test "ahead: a caller that asks for the first time during a jump doesn't trust it" do
      watch(5_000)
      @clock.jump_wall(HOUR_MS)
      assert_equal HOUR_MS, doubted(600_000)
      @clock.jump_wall(-HOUR_MS)
      assert_equal 0, doubted(600_000)
    end

    test "ahead twice: trusted as far as the first jump until the second one has been seen for as long" do
      @clock.jump_wall(HOUR_MS)
      read
      watch(WINDOW_MS - 1_000)
      @clock.jump_wall(2 * HOUR_MS)
      read
      watch(1_000)
      assert_equal 2 * HOUR_MS, doubted
      watch(WINDOW_MS - 1_000)
      assert_equal 0, doubted
    end

    test "ahead, and set back by a part of it: it was at least that far ahead all the time" do
      @clock.jump_wall(2 * HOUR_MS)
      read
      watch(WINDOW_MS - 1_000)
      @clock.jump_wall(-HOUR_MS)
      assert_equal HOUR_MS, doubted
      watch(1_000)
      assert_equal 0, doubted
    end

    test "set back: trusted at once; set right again, it is ahead" do
      @clock.jump_wall(-HOUR_MS)
      assert_equal 0, doubted
      @clock.jump_wall(HOUR_MS)
      assert_equal HOUR_MS, doubted
      watch(WINDOW_MS)
      assert_equal 0, doubted
    end

    test "unread for long: two short jumps that were each seen once, hours apart, aren't one long one" do
      @clock.jump_wall(HOUR_MS)
      read
      @clock.jump_wall(-HOUR_MS)
      @clock.advance(2 * HOUR_MS)
      @clock.jump_wall(HOUR_MS)
      assert_equal HOUR_MS, doubted
      watch(WINDOW_MS - 5_001)
      assert_equal HOUR_MS, doubted
      @clock.advance(1)
      assert_equal 0, doubted, "5 s of those hours count as seen"
    end

    test "unread for long: what is trusted stays trusted" do
      @clock.jump_wall(HOUR_MS)
      read
      watch(WINDOW_MS)
      @clock.advance(2 * HOUR_MS)
      assert_equal 0, doubted
    end

    test "the difference of two clocks that are rounded doesn't begin a window" do
      (WINDOW_MS / 1_000 - 1).times do
        @cautious.read(@clock.monotonic_ms, @clock.wall_ms + 1)
        @clock.advance(500)
        read
        @cautious.read(@clock.monotonic_ms, @clock.wall_ms + 1)
        @clock.advance(500)
      end
      @clock.jump_wall(HOUR_MS)
      read
      watch(2_000)
      assert_operator doubted, :>=, HOUR_MS - 1
    end

    test "a clock that is set ahead again and again is followed, and few offsets are remembered" do
      doubts = Array.new(2_000) do
        watch(5_000)
        @clock.jump_wall(10)
        doubted(600_000)
      end
      assert_operator doubts.max, :<=, 2 * 1_200
      assert_operator @cautious.instance_variable_get(:@rises).size, :<=, 50
      watch(600_000)
      assert_equal 0, doubted(600_000)
    end

    test "a week is the longest window" do
      @clock.jump_wall(HOUR_MS)
      read
      (7 * 86_400 / 5).times { @clock.advance(5_000).then { read } }
      @clock.jump_wall(1_000)
      assert_equal 1_000, doubted(30 * 86_400_000)
    end

    test "a thread that comes late with its reading neither waits nor spoils the time" do
      now, wall = @clock.monotonic_ms, @clock.wall_ms
      watch(10_000)
      @cautious.read(now, wall + 10_000)
      assert_equal 0, doubted

      threads = Array.new(4) { Thread.new { 500.times { read } } }
      threads.each(&:join)
      assert_equal 0, doubted
    end
  end
end
