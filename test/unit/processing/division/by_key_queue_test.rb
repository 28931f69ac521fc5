# frozen_string_literal: true

require "test_helper"
require "support/lanes"

module Penstock
  # The queue of keys that are ready: which keys are in it, and that questions about it change nothing.
  class ByKeyQueueTest < TestCase
    include TestSupport::Lanes

    Parallel = Struct.new(:by, :max_partitions, :partitioner, :consistent?, :offset_metadata_strategy)

    def filled(keys, max_messages: 100)
      rows = keys.each_with_index.map { |key, offset| Messages::MemoryBatch::Row.new(offset: offset, payload: "p", key: key) }
      lane(route(features: {parallel: Parallel.new(:key, 4, nil, false)}, max_messages: max_messages), committed: 0).tap do |lane|
        admit(lane, Messages::MemoryBatch.new("orders", 0, rows, from: 0))
      end
    end

    test "a key that is parked while it is queued leaves the queue: records of other keys are taken" do
      lane = filled(%w[a b c d e f].flat_map { |key| [key] * 3 }, max_messages: 1)
      lane.takes.ready = true
      units_ahead(lane).each { |unit| settle(lane, unit, error: RuntimeError.new, blamed: unit.messages.first_offset, now: 0) }

      assert_equal [0, 6], lane.division.to_h.values_at(:ready, :parked)
      refute_predicate lane, :waiting?
      assert_operator lane.wanted, :positive?
    end

    test "whether a unit may be cut can be asked at any time, and changes nothing" do
      lane = filled(%w[a b a b])
      lane.division.collapse(1)
      before = lane.division.to_h
      3.times { assert_predicate lane, :waiting? }
      one = lane.next_unit
      3.times { refute_predicate lane, :waiting? }
      settle(lane, one)
      settle(lane, lane.next_unit)
      3.times { assert_predicate lane, :waiting? }
      assert_equal [[2], [3]], units_ahead(lane).map { |unit| offsets_of(unit) }, "no longer one by one"
      assert_equal 4, before[:backlog]
    end
  end
end
