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

    def batch_of(keys)
      rows = keys.each_with_index.map { |key, offset| Messages::MemoryBatch::Row.new(offset: offset, payload: "p", key: key) }
      Messages::MemoryBatch.new("orders", 0, rows, from: 0)
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
  end
end
