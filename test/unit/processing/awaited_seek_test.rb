# frozen_string_literal: true

require "test_helper"
require "penstock/routing/features/parallel"
require "support/lanes"

module Penstock
  # A user's seek where keys run in parallel: what other calls have before it is completed first.
  class AwaitedSeekTest < TestCase
    include TestSupport::Lanes

    Parallel = Struct.new(:by, :max_partitions, :partitioner, :consistent?, :offset_metadata_strategy)
    Seek = Consumer::Flow::Seek

    def keyed(max_messages: 1, **options)
      route(features: {parallel: Parallel.new(:key, 4, nil, false)}, max_messages: max_messages, **options)
    end

    def keyed_batch(keys)
      rows = keys.each_with_index.map do |key, index|
        Messages::MemoryBatch::Row.new(offset: index, payload: "p", key: key, leader_epoch: 0)
      end
      Messages::MemoryBatch.new("orders", 0, rows, from: 0)
    end

    # @return [Array<Processing::Unit>] of the records 0 to 5, all handed out
    def filled(topic = keyed, keys: %w[a b c d e f])
      @lane = lane(topic, committed: 0)
      admit(@lane, keyed_batch(keys))
      @units = units_ahead(@lane)
    end

    def complete(*offsets) = offsets.each { |offset| settle(@lane, @units[offset]) }

    # @return [Array] seeks that take effect when the unit returns
    def seek(offset, target, **options) = settle(@lane, @units[offset], flow: Seek.new(target), **options).seeks

    def due = topic_pipeline(@lane.topic).due_seek(@lane).map(&:to_a)

    test "nothing is incomplete before the call: the seek takes effect at once" do
      filled
      complete(0, 1, 2)
      assert_equal [[["orders", 0], 1, :user]], seek(3, 1)
      refute @lane.awaited_seek.limit
    end

    test "a seek back waits for what is incomplete before its target" do
      filled
      assert_empty seek(4, 3)
      assert_empty due
      complete(0, 2)
      assert_empty due
      complete(1)
      assert_equal [[3, :awaited]], due
    end

    test "a seek ahead waits for what is incomplete before its call, not for what it skips" do
      filled
      assert_empty seek(2, 5)
      complete(0)
      assert_empty due
      complete(1)
      assert_equal [[5, :awaited]], due
      filled
      assert_empty seek(1, :latest)
      complete(0)
      assert_equal [[100, :awaited]], due, "the end at the time of the call: what was written since isn't skipped"
    end

    test "other keys' records between those of the call aren't skipped, the call's own are" do
      filled(keyed(max_messages: 3), keys: %w[a b a c a d])
      assert_equal [0, 2, 4], offsets_of(@units[0])
      assert_empty seek(0, 3)
      settle(@lane, @units[1])
      assert_equal [[3, :awaited]], due
      filled(keyed(max_messages: 3), keys: %w[a b a c a d])
      assert_empty seek(0, 20)
      settle(@lane, @units[1])
      assert_empty due
      settle(@lane, @units[2])
      assert_equal [[20, :awaited]], due
    end

    test "calls that seek don't wait for each other's records" do
      filled(keyed(max_messages: 2), keys: %w[a b a b c d])
      assert_empty seek(1, 9)
      assert_equal [], seek(0, 9)
      assert_equal [[9, :awaited]], due
    end

    test "until then what fails is tried again, and nothing beyond the limit begins" do
      filled(keys: %w[a b c])
      settle(@lane, @units[0], error: IOError.new)
      assert_empty seek(1, 1)
      complete(2)
      admit(@lane, Messages::MemoryBatch.new("orders", 0, [Messages::MemoryBatch::Row.new(offset: 3, payload: "p", key: "d",
        leader_epoch: 0)], from: 3))
      assert_nil @lane.next_unit
      @lane.division.expire(@lane.division.next_due)
      again = @lane.next_unit
      assert_equal [[0], 2, true], [offsets_of(again), again.attempt, again.collapsed]
      assert_nil @lane.next_unit
      settle(@lane, again)
      assert_equal [[1, :awaited]], due
    end

    test "nothing beyond the limit begins while only a dead letter is left of what is before it" do
      filled(keys: %w[a b b])
      @lane.returned(@units[0])
      @lane.letter_sent
      assert_empty seek(1, 1)
      assert_nil @lane.next_unit
      assert_empty due
      @lane.letter_done
      @lane.ledger.complete(0)
      assert_equal [[1, :awaited]], due
    end

    test "if the call has paused too, what is before the seek runs after the pause, and then the seek takes effect" do
      filled(keys: %w[a b c])
      settle(@lane, @units[0], flow: Consumer::Flow::MarkedOnly.new) # runs again
      settle(@lane, @units[1], flow: Seek.new(1, true, nil))
      complete(2)
      assert_equal [{user: nil}, nil, []], [@lane.holds.to_h, @lane.next_unit, due]
      @lane.holds.release(:user)
      settle(@lane, @lane.next_unit)
      assert_equal [[1, :awaited]], due
    end

    test "of two seeks that wait, the one that skips less counts" do
      filled
      seek(4, 3)
      seek(2, 5)
      complete(0, 1)
      assert_equal [[3, :awaited]], due
      filled
      seek(4, :latest)
      seek(3, 4)
      complete(0, 1, 2)
      assert_equal [[4, :awaited]], due
    end

    test "a seek while another one waits joins it, also if nothing is incomplete before its own call" do
      filled
      assert_empty seek(4, 3)
      complete(1, 2)
      assert_empty seek(0, 5)
      assert_equal [[3, :awaited]], due
    end

    test "an error in a call that seeks makes the partition wait before it continues there" do
      filled
      settled = settle(@lane, @units[0], flow: Seek.new(0), error: IOError.new)
      assert_equal [[["orders", 0], 0, :user]], settled.seeks
      refute_nil @lane.holds.due(:retry)
    end

    test "a partition whose window is full while a seek waits is reported" do
      @lane = topic_pipeline(keyed, window: {records: 200, bytes: 1 << 30}).lane("orders", 0, 1)
      assign(@lane)
      @lane.adopt(0)
      admit(@lane, keyed_batch(Array.new(200, &:to_s)))
      @units = Array.new(2) { @lane.next_unit }
      assert_nil @lane.division.full(@lane)
      settle(@lane, @units[0], error: IOError.new)
      seek(1, 1)
      assert_equal :records, @lane.division.full(@lane)
    end

    test "it waits for no record that stays incomplete permanently, when nothing else is left" do
      filled(keys: %w[a b])
      settle(@lane, @units[0], flow: Consumer::Flow::Pause.new(nil, nil))
      @lane.division.clear
      seek(1, 1)
      assert_equal [[1, :awaited]], due
    end

    test "nor while only records beyond the limit are left, which may not begin" do
      filled(keyed(max_messages: 1), keys: %w[a b c])
      settle(@lane, @units[0], flow: Consumer::Flow::MarkedOnly.new) # runs again
      seek(1, 1)
      complete(2)
      admit(@lane, Messages::MemoryBatch.new("orders", 0, [Messages::MemoryBatch::Row.new(offset: 3, payload: "p", key: "d",
        leader_epoch: 0)], from: 3))
      assert_empty due
      @lane.returned(@lane.next_unit) # and stays incomplete
      assert_equal [[1, :awaited]], due
    end

    test "the wish ends with its incarnation, and when the partition is given away" do
      filled
      seek(4, 3)
      @lane.reincarnate(0)
      refute @lane.awaited_seek.limit
      filled
      seek(1, 1)
      @lane.leave!
      complete(0)
      assert_empty due
    end

    test "manual offsets, the earliest offset, and requests without a call don't wait" do
      filled(keyed(manual: true))
      assert_equal [[["orders", 0], 3, :user]], seek(4, 3)
      filled
      assert_equal [[["orders", 0], :earliest, :user]], seek(4, :earliest)
      filled
      effects = topic_pipeline(@lane.topic).request(@lane, Seek.new(3), 0)
      assert_equal [[3, :user]], effects.map(&:to_a)
    end

    test "a seek that was requested before an error waits as well" do
      filled
      assert_empty seek(4, 3, error: IOError.new)
      complete(0, 1, 2)
      assert_equal [[3, :awaited]], due
    end
  end
end
