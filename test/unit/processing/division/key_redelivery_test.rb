# frozen_string_literal: true

require "test_helper"
require "support/failing"

module Penstock
  # Manual offsets, keys in parallel: after an error everything unmarked of the affected keys is redelivered, in their order.
  class KeyRedeliveryTest < TestCase
    include TestSupport::Failing

    Parallel = Struct.new(:by, :max_partitions, :partitioner, :consistent?, :offset_metadata_strategy)
    # The worker's state of a consumer.
    Holder = Struct.new(:failures)

    def by_key(keys, by: :key, features: {}, max: 100)
      topic = route(manual: true, max_messages: max, features: {parallel: Parallel.new(by, 4, nil, false), **features})
      lane(topic, committed: 0).tap { |lane| push(lane, keys, 0) }
    end

    def push(lane, keys, from)
      rows = keys.each_with_index.map do |key, index|
        Messages::MemoryBatch::Row.new(offset: from + index, payload: "p", key: key, leader_epoch: 0)
      end
      admit(lane, Messages::MemoryBatch.new("orders", 0, rows, from: from))
    end

    # @return [Processing::Unit] the next one, given to the consumer
    def take(lane, holder) = lane.next_unit.tap { |unit| unit.add_holder(holder) }

    def fails(lane, unit, holder, **options)
      holder.failures += 1
      settle(lane, unit, error: IOError.new, **options).tap { lane.redelivery.settled(unit) }
    end

    def ends(lane, unit)
      settle(lane, unit)
      lane.redelivery.settled(unit)
    end

    # @return [Processing::Unit] of the second consumer, with a key of which the first had the record before; the first has failed
    def out_while_another_fails(lane, one, two)
      ends(lane, take(lane, one))
      push(lane, %w[a], 2)
      failing = take(lane, one)
      take(lane, two).tap { fails(lane, failing, one) }
    end

    def rest(lane)
      lane.division.expire(1_000_000)
      [].tap do |found|
        while (unit = lane.next_unit)
          found << offsets_of(unit)
          ends(lane, unit)
          lane.division.expire(1_000_000)
        end
      end
    end

    test "records of the failed key that were never marked are redelivered before those that failed, for any consumer" do
      lane = by_key(%w[a b])
      ends(lane, take(lane, Holder.new(0)))
      ends(lane, take(lane, Holder.new(0)))
      push(lane, %w[a a], 2)
      other = Holder.new(0)
      ports = fails(lane, take(lane, other), other)

      assert_includes ports.events, ["consumer.redelivery", {topic: "orders", partition: 0, offset: 0, count: 1}]
      assert_equal [[0], [2], [3]], rest(lane)
      assert_equal 4, lane.ledger.incomplete
    end

    test "records of other keys that the same consumer has had are redelivered too, with those that followed them" do
      lane = by_key(%w[a b c])
      one, two = Holder.new(0), Holder.new(0)
      [one, two, one].each { |holder| ends(lane, take(lane, holder)) }
      push(lane, %w[c b a], 3)
      ends(lane, take(lane, two)) # c: after the records that the first has
      ends(lane, take(lane, two)) # b: the first has none of its records
      fails(lane, take(lane, one), one)

      assert_equal [[2, 3], [0], [5]], rest(lane)
    end

    test "a unit of which a later record comes again comes again as a whole: no consumer has its earlier ones any more" do
      lane = by_key(%w[a], features: dead_letters(0))
      one, two = Holder.new(0), Holder.new(0)
      ends(lane, take(lane, one))
      push(lane, %w[a], 1)
      dead = take(lane, two)
      two.failures += 1
      fail_at(lane, dead, 1).each { |letter| acknowledge(lane, letter) }
      push(lane, %w[a b], 2)
      both = take(lane, one)
      ends(lane, both)
      fails(lane, take(lane, two), two)

      assert_equal [0, 2], offsets_of(both)
      assert_equal [[0, 2], [3]], rest(lane).sort
    end

    test "a consumer that has failed holds nothing: its next failure doesn't redeliver the same records again" do
      lane = by_key(%w[a b])
      one, two = Holder.new(0), Holder.new(0)
      ends(lane, take(lane, one))
      fails(lane, take(lane, one), one)
      ends(lane, take(lane, two)) # a again
      lane.division.expire(1_000_000)
      fails(lane, take(lane, one), one)

      assert_equal [[1]], rest(lane)
    end

    test "a key with a unit that is out is redelivered when the unit has been settled" do
      lane = by_key(%w[a b])
      one, two = Holder.new(0), Holder.new(0)
      running = out_while_another_fails(lane, one, two)
      assert_equal [2], offsets_of(running)
      assert_nil lane.next_unit

      ends(lane, running)
      assert_equal [[0, 2], [1]], rest(lane)
    end

    test "a unit whose outcome was under way when its consumer failed is redelivered too" do
      lane = by_key(%w[a b])
      one = Holder.new(0)
      before, failing = take(lane, one), take(lane, one)
      fails(lane, failing, one)
      ends(lane, before)

      assert_equal [[0], [1]], rest(lane).sort
    end

    test "a unit that is called back lets its key be redelivered" do
      lane = by_key(%w[a b])
      one, two = Holder.new(0), Holder.new(0)
      lane.put_back([out_while_another_fails(lane, one, two)])

      assert_equal [[0, 2], [1]], rest(lane)
    end

    test "marks of redelivered messages return false from the error on; marks made before count" do
      lane = by_key(%w[a b])
      one = Holder.new(0)
      marked, failing = take(lane, one), take(lane, one)
      assert marked.messages.first.mark_cell.mark(0)
      ends(lane, marked)
      push(lane, %w[a], 2)
      held = take(lane, one)
      ends(lane, held)
      one.failures += 1
      refute held.messages.first.mark_cell.mark(2), "the outcome is still on its way"
      one.failures -= 1
      fails(lane, failing, one)

      refute held.messages.first.mark_cell.mark(2)
      assert_equal [[2], [1]], rest(lane)
      assert lane.ledger.complete?(0)
    end

    test "a mark of a redelivered record doesn't cover records outside its unit" do
      lane = by_key(%w[a])
      one, two = Holder.new(0), Holder.new(0)
      ends(lane, take(lane, one))
      push(lane, %w[a], 1)
      ends(lane, take(lane, two))
      push(lane, %w[a], 2)
      fails(lane, take(lane, one), one)
      lane.division.expire(1_000_000)
      again = lane.next_unit

      assert_equal [0, 1], offsets_of(again)
      assert again.messages.last.mark_cell.mark(1)
      ends(lane, again)
      assert_equal 2, lane.ledger.base
    end

    test "by message, every record that the consumer has had is redelivered" do
      lane = by_key(%w[a a a a], by: :message)
      one, two = Holder.new(0), Holder.new(0)
      [one, two, one].each { |holder| ends(lane, take(lane, holder)) }
      fails(lane, take(lane, one), one)

      assert_equal [[0], [2], [3]], rest(lane)
    end

    test "a dead-lettered or skipped record is never redelivered; if it is incomplete, the lane knows which record it waits for" do
      lane = by_key(%w[a a], features: dead_letters(0, mark_after_dispatch: false), max: 1)
      one = Holder.new(0)
      failing = take(lane, one)
      letter, = fail_at(lane, failing, 0)
      acknowledge(lane, letter)
      lane.division.expire(1_000_000)
      fails(lane, take(lane, one), one)

      assert_equal [[1]], rest(lane)
      assert lane.division.unmarked?(0)
    end

    # The record at offset 1 fails and succeeds when it runs again, unmarked; then the one at offset 2 fails.
    def failed_before(**features)
      lane = by_key(%w[a a], features: {**dead_letters(1), **features})
      one = Holder.new(0)
      failing = take(lane, one)
      one.failures += 1
      fail_at(lane, failing, 1)
      lane.redelivery.settled(failing)
      rest(lane)
      push(lane, %w[a], 2)
      fails(lane, take(lane, one), one)
      rest(lane)
    end

    test "a redelivered record that failed before runs alone, so that its next failure is counted where it is known" do
      assert_equal [[0], [1], [2]], failed_before
    end

    test "with isolate false records that failed before run with the others" do
      assert_equal [[0, 1, 2]], failed_before(isolate: false)
    end

    test "a tick that fails may have lost what any consumer of the partition held" do
      lane = by_key(%w[a b])
      2.times { ends(lane, take(lane, Holder.new(0))) }
      settle(lane, lane.action_unit(:tick, Messages.new(batch([]))), error: IOError.new)
      lane.holds.expire(1_000_000)

      assert_equal [[0], [1]], rest(lane)
    end

    test "the wait after a tick that fails each time grows" do
      lane = by_key(%w[a b])
      waits = Array.new(3) do
        rest(lane)
        settle(lane, lane.action_unit(:tick, Messages.new(batch([]))), error: IOError.new)
        lane.holds.due(:retry).tap { lane.holds.expire(1_000_000) }
      end

      assert_equal [2_000, 4_000, 8_000], waits
    end

    test "a record that two consumers hold, because one of them paused, is redelivered when either fails" do
      lane = by_key(%w[a a b])
      one, two = Holder.new(0), Holder.new(0)
      paused = take(lane, one)
      settle(lane, paused, flow: Consumer::Flow::Pause.new(nil, nil))
      lane.holds.release(:user)
      failing = take(lane, one)
      again = take(lane, two)
      one.failures += 1
      assert_equal [[2], [0, 1]], [failing, again].map { |unit| offsets_of(unit) }
      ends(lane, again)

      refute paused.messages.last.mark_cell.mark(1), "it may have lost what is before"
      settle(lane, failing, error: IOError.new)
      lane.redelivery.settled(failing)
      assert_equal [[0, 1], [2]], rest(lane).sort
    end

    test "a consumer that works on records another one has lost still loses its own records with its own error" do
      lane = by_key(%w[a b c])
      one, two = Holder.new(0), Holder.new(0)
      settle(lane, take(lane, one), flow: Consumer::Flow::Pause.new(nil, nil))
      lane.holds.release(:user)
      ends(lane, take(lane, two))
      failing = take(lane, one)
      again = take(lane, two)
      assert_equal [[2], [0]], [failing, again].map { |unit| offsets_of(unit) }
      fails(lane, failing, one)
      fails(lane, again, two)

      assert_equal [[0], [1], [2]], rest(lane).sort
    end

    test "a failing tick delays nothing because of records that aren't redelivered" do
      lane = by_key(%w[a b], features: dead_letters(0, mark_after_dispatch: false))
      failing = take(lane, Holder.new(0))
      letter, = fail_at(lane, failing, 0)
      acknowledge(lane, letter)
      settle(lane, lane.action_unit(:tick, Messages.new(batch([]))), error: IOError.new)

      assert_empty lane.holds.reasons
    end

    test "a new incarnation of the lane has no records to redeliver" do
      lane = by_key(%w[a b])
      one, two = Holder.new(0), Holder.new(0)
      ends(lane, take(lane, one))
      push(lane, %w[a], 2)
      failing = take(lane, one)
      running = take(lane, two)
      fails(lane, failing, one)
      lane.reincarnate(3)
      lane.returned(running)
      lane.redelivery.settled(running)

      assert_equal [], rest(lane)
    end

    test "with automatic offsets units don't track which consumer holds them" do
      topic = route(features: {parallel: Parallel.new(:key, 4, nil, false)})
      lane = lane(topic, committed: 0)
      push(lane, %w[a b], 0)
      unit = take(lane, Holder.new(0))

      assert_nil unit.instance
      ends(lane, unit)
      failing = take(lane, Holder.new(0))
      settle(lane, failing, error: IOError.new)
      assert_equal [[1]], rest(lane)
    end
  end
end
