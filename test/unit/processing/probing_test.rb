# frozen_string_literal: true

require "test_helper"
require "support/lanes"

module Penstock
  class ProbingTest < TestCase
    include TestSupport::Lanes

    Parallel = Struct.new(:by, :max_partitions, :partitioner, :consistent?, :offset_metadata_strategy)
    private_constant :Parallel

    def suspects(one_at_a_time) = Struct.new(:one_at_a_time?).new(one_at_a_time)

    test "an open breaker doesn't probe while a record runs that must be alone, nor in order while anything runs" do
      in_order = lane(route(max_messages: 1), committed: 0)
      by_key = lane(route(max_messages: 1, features: {parallel: Parallel.new(:message, 4, nil, false)}), committed: 0)
      {in_order => false, by_key => true}.each do |lane, beside|
        admit(lane, batch(0..2, from: 0))
        equip(lane, suspects: suspects(true))
        unit = lane.next_unit
        lane.holds.add(:breaker)
        refute lane.probing.possible?
        equip(lane, suspects: suspects(false))
        assert_equal beside, lane.probing.possible?
        equip(lane, suspects: nil)
        lane.returned(unit)
        assert lane.probing.possible?
      end
    end

    test "a record that failed while the breaker was open isn't fresh, until the breaker closes or a new incarnation begins" do
      lane = lane(route(max_messages: 1), committed: 0)
      admit(lane, batch(0..2, from: 0))
      ends = [-> { lane.probing.release }, -> { lane.reincarnate(0) }]
      ends.each do |over|
        assert lane.probing.untried?(0)
        lane.probing.note_failure(0)
        assert_equal [false, true], [lane.probing.untried?(0), lane.probing.untried?(1)]
        over.call
      end
      assert lane.probing.untried?(0)
    end

    test "a probe is out until it comes back, and only then more records are needed" do
      lane = lane(route(max_messages: 2), committed: 0)
      admit(lane, batch(0..1, from: 0))
      lane.holds.add(:breaker)
      assert_equal [true, false], [lane.probing.possible?, lane.probing.needs_records?]
      probe = lane.probe
      assert_equal [[0], true, true], [offsets_of(probe), probe.probe, lane.probing.out?]
      lane.put_back([probe])
      lane.probing.note_failure(0)
      assert_equal [false, true, true], [lane.probing.out?, lane.probing.needs_records?, lane.probing.admits?]
      lane.holds.add(:user)
      assert_equal [false, false], [lane.probing.needs_records?, lane.probing.admits?]
    end
  end
end
