# frozen_string_literal: true

require "test_helper"
require "penstock/cli/segments/plan"

class SegmentsPlanTest < Penstock::TestCase
  PARTS = %w[g-parallel-0 g-parallel-1].freeze

  # @param origin [Hash] offsets by partition of the topic "t"; segments likewise
  def plan(origin, *parts)
    committed = {"g" => origin, **PARTS.zip(parts).to_h { |id, offsets| [id, offsets || {}] }}
    Penstock::CLI::Segments::Plan.new("g", PARTS,
      committed.transform_values { |offsets| offsets.to_h { |partition, offset| [["t", partition], [offset, "m#{offset}"]] } })
  end

  test "distributing gives every segment the group's offset and its ledger beyond it" do
    plan = plan({0 => 5, 1 => 7})

    assert_empty plan.against_distributing
    moved = [["t", 0, 5, "m5"], ["t", 1, 7, "m7"]]
    assert_equal({PARTS[0] => moved, PARTS[1] => moved}, plan.distribution)
  end

  test "segments with offsets, and a group without, are objections" do
    assert_equal ["g-parallel-1 has offsets that would be lost"], plan({0 => 5}, {}, {0 => 5}).against_distributing
    assert_equal ["g-parallel-0, g-parallel-1 have offsets that would be lost"],
      plan({0 => 5}, {0 => 9}, {0 => 5}).against_distributing
    assert_equal ["g has no offsets"], plan({}).against_distributing
  end

  test "collapsing gives the group the lowest offset, and different offsets are an objection" do
    assert_empty plan({0 => 1}, {0 => 5}, {0 => 5}).against_collapsing
    uneven = plan({0 => 1}, {0 => 5, 1 => 3}, {0 => 4, 1 => 3})
    assert_match(%r{have different offsets in t/0: starting from the lowest}, uneven.against_collapsing.join)
    assert_equal({"g" => [["t", 0, 4], ["t", 1, 3]]}, uneven.collapse)
    assert_match(%r{t/0}, plan({}, {0 => 5}, {}).against_collapsing.join)
    assert_equal ["the segments of g have no offsets"], plan({0 => 1}).against_collapsing
  end

  test "a segment without an offset counts with the group's, and is an objection that names it" do
    idle = plan({0 => 3, 1 => 7}, {0 => 5, 1 => 7}, {})
    assert_equal ["g-parallel-1 has no offset in t/0: there it has done nothing since the group was split, so the offset of g " \
      "counts, and what the others have done is repeated"], idle.against_collapsing
    moved = [["t", 0, 3], ["t", 1, 7]]
    assert_equal({"g" => moved}, idle.collapse)
    assert_equal({"g" => moved, PARTS[0] => moved, PARTS[1] => moved}, idle.reset)
  end

  test "where neither a segment nor the group has an offset, all begin like a new group" do
    fresh = plan({}, {0 => 5, 1 => 2}, {1 => 2})
    assert_equal ["g-parallel-1 has no offset in t/0, and neither has g: there all start like a new group"],
      fresh.against_collapsing
    assert_equal({"g" => [["t", 1, 2]]}, fresh.collapse)
    assert_equal({"g" => [["t", 1, 2]], PARTS[0] => [["t", 1, 2], ["t", 0, nil]], PARTS[1] => [["t", 1, 2]]}, fresh.reset)
  end

  test "a reset sets all to the lowest offset of a segment, or to the group's" do
    moved = [["t", 0, 4], ["t", 1, 8]]

    assert_equal({"g" => moved, PARTS[0] => moved, PARTS[1] => moved}, plan({0 => 9, 1 => 8}, {0 => 5}, {0 => 4}).reset)
  end
end
