# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "support/virtual_clock"
require "penstock/processing/division/throttled_by_key"
require "penstock/routing/features/parallel"
require "penstock/routing/features/throttle"

module Penstock
  # `throttle per: :key`.
  class ThrottledByKeyTest < TestCase
    include TestSupport::Lanes

    def setup
      @clock = VirtualClock.new(monotonic_ms: 0)
      @offset = 0
    end

    def throttled(limit, interval, manual: false, max: 100)
      features = {parallel: Routing::Parallel.new(:key, 8, nil, :rolling, :current),
                  throttle: Routing::Throttle.new(limit, interval, :key)}
      lane = topic_pipeline(route(features: features, manual: manual, max_messages: max), clock: @clock).lane("orders", 0, 1)
      assign(lane).tap { |one| one.adopt(0) }
    end

    def come(lane, *keys)
      rows = keys.map { |key| Messages::MemoryBatch::Row.new(offset: (@offset += 1) - 1, payload: "p", key: key) }
      admit(lane, Messages::MemoryBatch.new("orders", 0, rows, from: @offset - keys.size))
    end

    def at(lane, now)
      @clock.advance(now - @clock.monotonic_ms)
      lane.division.expire(now)
    end

    # @return [Array<Array<Integer>>] offsets of the units that run
    def runs(lane, error: nil)
      found = []
      while lane.waiting? && (unit = lane.next_unit)
        found << offsets_of(unit)
        settle(lane, unit, error: error, blamed: error && unit.messages.first_offset, now: @clock.monotonic_ms)
      end
      found
    end

    [false, true].each do |manual|
      test "the records of a shortened unit that is called back wait together for the limit#{" (manual offsets)" if manual}" do
        lane = throttled(2, 1_000, manual: manual)
        come(lane, "a", "a", "a")
        unit = lane.next_unit
        unit.shorten(1)
        lane.put_back([unit])

        assert_empty runs(lane), "they are counted again"
        at(lane, 1_000)
        assert_equal [[0, 1]], runs(lane)
        at(lane, 2_000)
        assert_equal [[2]], runs(lane)
      end
    end

    test "[throttle per key] each key has its own limit, and one that has used it up holds no other" do
      lane = throttled(2, 1_000)
      come(lane, "a", "a", "a", "b", "a", "b")
      assert_equal [[0, 1], [3, 5]], runs(lane)
      assert_equal [true, 1_000, 1], [lane.holds.open?, lane.division.next_due, lane.division.to_h[:parked]]
      come(lane, "c", "a")
      assert_equal [[6]], runs(lane)
      at(lane, 999)
      assert_empty runs(lane)
      at(lane, 1_000)
      assert_equal [[2, 4]], runs(lane)
      at(lane, 2_000)
      assert_equal [[7]], runs(lane)
      assert_equal 8, lane.committable_offset
    end

    test "a retry isn't counted again, however long it waits, and doesn't wait for the limit" do
      lane = throttled(1, 1_000)
      come(lane, "a", "a")
      assert_equal [[0]], runs(lane, error: RuntimeError.new)
      [2_000, 10_000].each do |now|
        at(lane, now)
        assert_equal [[0]], runs(lane, error: RuntimeError.new)
      end
      at(lane, 60_000)
      assert_equal [[0], [1]], runs(lane), "the limit of the first is long over"
    end

    test "records that are called back are counted when they start, so no interval has too many" do
      lane = throttled(2, 1_000)
      come(lane, "a", "a", "a")
      lane.put_back([lane.next_unit])
      assert_empty runs(lane)
      at(lane, 1_000)
      assert_equal [[0, 1]], runs(lane)
      at(lane, 2_000)
      assert_equal [[2]], runs(lane)
    end

    test "records without a key don't wait for each other" do
      lane = throttled(1, 1_000)
      come(lane, nil, nil, nil)
      assert_equal [[0], [1], [2]], runs(lane)
    end

    test "a seek doesn't reset the limit, and the records that come again count again" do
      lane = throttled(1, 1_000)
      come(lane, "a", "b")
      runs(lane)
      lane.reincarnate(0)
      @offset = 0
      come(lane, "a", "c")
      assert_equal [[1]], runs(lane)
      at(lane, 1_000)
      assert_equal [[0]], runs(lane)
    end

    test "records up to a collapse wait for a key's limit, in order" do
      lane = throttled(1, 1_000)
      come(lane, "a", "a", "b")
      lane.division.collapse(2)
      assert_equal [[0]], runs(lane)
      at(lane, 1_000)
      assert_equal [[1], [2]], runs(lane)
    end

    test "a window that keys fill which have used up their limit is full because of the throttle" do
      lane = throttled(1, 1_000, max: 4)
      assert_nil lane.division.full(lane)
      come(lane, *["a"] * 700)
      runs(lane)
      assert_nil lane.division.full(lane)
      come(lane, *["a"] * 300)
      assert_equal :throttle, lane.division.full(lane)
    end

    test "keys that are idle for an interval are forgotten" do
      lane = throttled(3, 1_000)
      10.times do |round|
        come(lane, *Array.new(20) { |index| "key #{round} #{index}" })
        runs(lane)
        at(lane, (round + 1) * 1_000)
      end
      assert_operator lane.division.instance_variable_get(:@rates).size, :<=, 40
    end

    test "no interval has more new records of a key than the limit, nothing waits for ever, and each key is in order" do
      60.times { |seed| random_run(Random.new(seed)) }
    end

    def random_run(random)
      setup
      limit, interval = random.rand(1..5), random.rand(1..800)
      lane = throttled(limit, interval, max: random.rand(1..6))
      @starts, @ran, out = Hash.new { |hash, key| hash[key] = {} }, Hash.new { |hash, key| hash[key] = [] }, []
      200.times do |step|
        come(lane, *Array.new(random.rand(4)) { "k#{random.rand(3)}" }) if step < 60
        start(lane, out) if lane.waiting?
        step_back_or_end(lane, out, random)
        at(lane, @clock.monotonic_ms + random.rand(0..interval))
      end
      finish(lane, out)
      assert_equal @offset, lane.committable_offset
      @ran.each_value { |offsets| assert_equal offsets.uniq.sort, offsets.uniq }
      @starts.each_value { |starts| assert_limit(starts.values.sort, limit, interval) }
    end

    def start(lane, out)
      out << unit = lane.next_unit
      offsets_of(unit).each { |offset| @starts[unit.key][offset] ||= @clock.monotonic_ms }
    end

    def step_back_or_end(lane, out, random)
      return if out.empty?
      case random.rand(10)
      when 0, 1
        unit = out.delete_at(random.rand(out.size))
        offsets_of(unit).each { |offset| @starts[unit.key].delete(offset) } if unit.attempt == 1
        lane.put_back([unit])
      when 2..5 then settle_one(lane, out.delete_at(random.rand(out.size)), random.rand(6).zero?)
      end
    end

    def settle_one(lane, unit, failed)
      @ran[unit.key].concat(offsets_of(unit)) unless failed
      settle(lane, unit, error: (RuntimeError.new if failed), blamed: (unit.messages.first_offset if failed),
        now: @clock.monotonic_ms)
    end

    def assert_limit(times, limit, interval)
      times.each_cons(limit + 1) do |window|
        assert_operator window.last - window.first, :>=, interval, "#{limit + 1} records of a key within #{interval} ms"
      end
    end

    def finish(lane, out)
      200.times do
        start(lane, out) while lane.waiting?
        out.each { |unit| settle_one(lane, unit, false) }
        out.clear
        at(lane, @clock.monotonic_ms + 40_000)
      end
    end
  end
end
