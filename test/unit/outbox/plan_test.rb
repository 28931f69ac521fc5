# frozen_string_literal: true

require "test_helper"
require "penstock/outbox"
require "penstock/outbox/plan"
require "penstock/outbox/store"

class OutboxPlanTest < Penstock::TestCase
  Plan = Penstock::Outbox::Plan

  test "a chain is a strand, in the order of ids; each row without a strand is a chain" do
    plan = plan([1, 7], [2, 8], [3, 7], [4, nil], [5, nil])

    assert_equal [[1, 3], [2], [4], [5]], plan.chains.map(&:ids)
    assert_empty plan.blocked
  end

  test "a parked row that is due is sent alone: rows held for it come before those just read" do
    plan = plan([1, 7, "parked", 1], [4, 7, "ready", 1], [5, 7, "ready", 1])

    assert_equal [[[1], [4, 5], true]], plan.chains.map(&:to_a)
  end

  test "rows of a strand aren't sent while its parked row isn't due" do
    plan = plan([2, 7, "ready", 1], [3, 8], [4, 7, "ready", 1])

    assert_equal [[3]], plan.chains.map(&:ids)
    assert_equal({1 => [2, 4]}, plan.blocked)
    refute_predicate plan, :empty?
  end

  test "a turn takes no more bytes than allowed, but at least one row, and leaves none out before a later one" do
    all = slots([1, 1], [2, 2], [3, 3]).each { |slot| slot.bytes = 10 }

    assert_equal [1, 2], Plan.fit(all, 20).map(&:id)
    assert_equal [1], Plan.fit(all, 5).map(&:id)
    assert_empty Plan.fit([], 5)
  end

  test "parked rows may use half of the bytes, and rows that wait for one use none" do
    all = slots([1, 1, "parked"], [2, 2, "parked"], [3, 3, "ready", 9], [4, 4], [5, 5]).each { |slot| slot.bytes = 10 }

    assert_equal [1, 3, 4], Plan.fit(all, 20).map(&:id)
    assert_equal [1, 2, 3, 4, 5], Plan.fit(all, 40).map(&:id)
    assert_equal [1, 3, 4], Plan.fit(all, 5).map(&:id)
  end

  private

  def plan(*rows) = Plan.new(slots(*rows))

  def slots(*rows)
    rows.map { |id, strand, state, blocker| Penstock::Outbox::Store::Slot.new(id, strand, state || "ready", 1, blocker) }
  end
end
