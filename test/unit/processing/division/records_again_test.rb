# frozen_string_literal: true

require "test_helper"
require "penstock/serialization/deserializers"
require "support/lanes"

module Penstock
  # Records that are handed out again: how user code sees them (by key they were parked meanwhile, so they are copies), with which
  # others they run, and which of them needn't run again because they were marked meanwhile.
  class RecordsAgainTest < TestCase
    include TestSupport::Lanes

    Parallel = Struct.new(:by, :max_partitions, :partitioner, :consistent?, :offset_metadata_strategy)

    def batch_of(keys, from: 0)
      rows = keys.each.with_index(from).map { |key, offset| Messages::MemoryBatch::Row.new(offset: offset, payload: "p", key: key) }
      Messages::MemoryBatch.new("orders", 0, rows, from: from)
    end

    test "a record that is handed out again after a failure has its own key, headers and payload, regardless of earlier reads" do
      deserializers = Serialization::Deserializers.new(payload: ->(message) { [message.key, message.offset] },
        key: ->(message) { "key #{message.raw_key}" }, headers: ->(message) { {"offset" => message.offset} })
      %i[key message].each do |by|
        lane = lane(route(features: {parallel: Parallel.new(by, 4, nil, false)}, deserializers: deserializers), committed: 0)
        admit(lane, batch_of(%w[a b a b a b]))
        seen = []
        12.times do |turn|
          unit = lane.next_unit or break
          seen.concat(unit.messages.map { |message| [message.offset, message.key, message.headers, message.payload] })
          failed = unit.messages.offsets.include?(3) && turn < 8
          settle(lane, unit, **(failed ? {error: RuntimeError.new, blamed: 3} : {}))
          lane.division.expire(1_000_000)
        end

        wrong = seen.reject do |offset, key, headers, payload|
          name = "key #{(offset % 2).zero? ? "a" : "b"}"
          [key, headers, payload] == [name, {"offset" => offset}, [name, offset]]
        end
        assert_empty wrong, "by #{by}"
        assert_equal 6, lane.ledger.base
        assert_operator seen.size, :>, 6
      end
    end

    # @return [Array<Integer>] offsets of the unit with record 0, which failed once and runs again, while 1 and 2 of its key wait
    def after_a_retry(**features)
      lane = lane(route(features: {parallel: Parallel.new(:key, 4, nil, false), **features}), committed: 0)
      admit(lane, batch_of(%w[a]))
      settle(lane, lane.next_unit, error: RuntimeError.new, blamed: 0)
      lane.division.expire(1_000_000)
      yield lane, lane.next_unit
      lane.holds.expire(1_000_000)
      lane.division.expire(1_000_000)
      admit(lane, batch_of(%w[a a], from: 1))
      offsets_of(lane.next_unit)
    end

    test "by key a retried record runs alone, also after it was called back, or its call was paused or began a transaction in vain" do
      called_back = ->(lane, unit) { lane.put_back([unit]) }
      paused = ->(lane, unit) { settle(lane, unit, flow: Consumer::Flow::Pause.new(nil, 10)) }
      deferred = ->(lane, unit) { settle(lane, unit, error: TransactionDeferredError.new("no room"), blamed: 0) }
      [called_back, paused, deferred].each { |interrupted| assert_equal [0], after_a_retry(&interrupted) }
      assert_equal [0, 1, 2], after_a_retry(isolate: false, &called_back)
    end

    PAUSE = {flow: Consumer::Flow::Pause.new(nil, 10)}.freeze
    FAILURE = {error: RuntimeError.new, blamed: 2}.freeze
    private_constant :PAUSE, :FAILURE

    def by_key(keys = %w[a a a], manual: false, throttle: nil)
      features = {parallel: Parallel.new(:key, 4, nil, false), throttle: throttle}.compact
      lane(route(features: features, manual: manual), committed: 0).tap { |lane| admit(lane, batch_of(keys)) }
    end

    # The first unit of the lane comes back; a thread marks one of its records after that, and the marks are read.
    # @return [Boolean] what the mark returned
    def mark_late(lane, offset, outcome)
      unit = lane.next_unit
      message = unit.messages.find { |one| one.offset == offset }
      settle(lane, unit, **outcome)
      (message.mark_cell || lane.marks).mark(offset).tap { lane.take_marks }
    end

    def runs(lane)
      lane.holds.expire(1_000_000)
      lane.division.expire(1_000_000)
      units = []
      while (unit = lane.next_unit)
        units << offsets_of(unit)
        settle(lane, unit)
      end
      units
    end

    test "by key, with automatic offsets, records that run again can't be marked by code that kept them; earlier marks count" do
      [PAUSE, FAILURE, {flow: Consumer::Flow::MarkedOnly.new}].each do |outcome|
        lane = by_key
        unit = lane.next_unit
        unit.marks.mark(0)
        settle(lane, unit, **outcome)
        refute unit.messages[2].mark_cell.mark(2)
        lane.take_marks
        assert_equal [1, [1, 2]], [lane.ledger.base, runs(lane).flatten]
        assert_equal 3, lane.ledger.base
      end
    end

    test "by key, with manual offsets, records that are marked during a pause don't run again" do
      {0 => [[1, 2]], 1 => [[2]], 2 => []}.each do |marked, again|
        lane = by_key(manual: true)
        assert mark_late(lane, marked, PAUSE)
        assert_equal again, runs(lane)
        assert_equal [0, true], [lane.in_flight, lane.division.empty?]
      end
    end

    test "by key a marked record needn't run again either while the partition is collapsed: the next ones of the collapse do" do
      lane = by_key(%w[a b a b c], manual: true)
      lane.division.isolate("a", 0)
      assert mark_late(lane, 0, PAUSE)
      lane.division.collapse(2)
      assert_equal [[1], [2], [4], [3]], runs(lane)
      lane = by_key(%w[a b], manual: true)
      assert mark_late(lane, 0, PAUSE)
      lane.division.collapse(0, only: true)
      assert_empty runs(lane), "nothing after it may begin"
    end

    test "by key the other records of a throttled key wait for their limit although the counted ones were marked" do
      require "penstock/routing/features/throttle"
      lane = by_key(manual: true, throttle: Routing::Throttle.new(1, 60_000, :key))
      assert mark_late(lane, 0, PAUSE)
      lane.holds.expire(1_000_000)
      assert_nil lane.next_unit
      assert_equal [0, 1], [lane.in_flight, lane.division.to_h[:parked]]
    end

    test "in order records that are marked while they wait to run again don't run again" do
      {0 => [[1], [2], [3, 4]], 1 => [[2], [3, 4]], 2 => [[3, 4]]}.each do |marked, again|
        lane = lane(route(max_messages: 3), committed: 0)
        admit(lane, batch(0..4, from: 0))
        assert mark_late(lane, marked, FAILURE)
        assert_equal again, runs(lane)
      end
    end

    test "in order the offset of a pause has priority over the marks that were made before it" do
      lane = lane(route(max_messages: 3), committed: 0)
      admit(lane, batch(0..4, from: 0))
      unit = lane.next_unit
      lane.marks.mark(2)
      settle(lane, unit, flow: Consumer::Flow::Pause.new(0, 10))
      assert_equal [3, [[0, 1, 2], [3, 4]]], [lane.ledger.base, runs(lane)]
    end
  end
end
