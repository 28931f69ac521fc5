# frozen_string_literal: true

require "test_helper"
require "penstock/serialization/deserializers"
require "support/lanes"

module Penstock
  # User code's view of records that are handed out again where keys run in parallel: they were parked meanwhile, so they are
  # copies.
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
  end
end
