# frozen_string_literal: true

require "test_helper"
require "delegate"
require "support/lanes"

module Penstock
  class ByKeyTest < TestCase
    include TestSupport::Lanes

    Parallel = Struct.new(:by, :max_partitions, :partitioner, :consistent?, :offset_metadata_strategy)

    def keyed(by: :key, **options) = route(features: {parallel: Parallel.new(by, 4, nil, false)}, **options)

    # Records with the given keys in order, offsets from 0.
    def keyed_batch(keys, from: 0, full: false)
      rows = keys.each_with_index.map do |key, index|
        Messages::MemoryBatch::Row.new(offset: from + index, payload: "p", key: key, leader_epoch: 0)
      end
      Messages::MemoryBatch.new("orders", 0, rows, from: from, full: full)
    end

    def filled(keys, topic = keyed, committed: 0)
      lane(topic, committed: committed).tap { |lane| admit(lane, keyed_batch(keys)) }
    end

    test "a unit consists of the buffered records of one key, and no other unit of the key is out at the same time" do
      lane = filled(%w[a b a c a])
      first, second, third = units_ahead(lane)

      assert_equal [[0, 2, 4], [1], [3]], [first, second, third].map { |unit| offsets_of(unit) }
      admit(lane, keyed_batch(%w[a b], from: 5))
      assert_nil lane.next_unit
      settle(lane, first)
      assert_equal [5], offsets_of(lane.next_unit)
    end

    test "a unit has no more records than a call may have" do
      lane = filled(%w[a a a a a], keyed(max_messages: 2))
      unit = lane.next_unit
      assert_equal [0, 1], offsets_of(unit)
      settle(lane, unit)

      assert_equal [2, 3], offsets_of(lane.next_unit)
    end

    test "records without a key, or for which the partitioner returned nil, are alone, and by message all records are" do
      assert_equal([[0], [1], [2]], units_ahead(filled([nil, nil, "a"])).map { |unit| offsets_of(unit) })
      assert_equal([[0], [1], [2]], units_ahead(filled(%w[a a a], keyed(by: :message))).map { |unit| offsets_of(unit) })
      lane = filled([]).tap { |one| one.ledger.admit(0, 3, nil) }
      lane.admit(Messages.new(keyed_batch(%w[a a a])), [nil, "a", nil])
      assert_equal([[0], [1], [2]], units_ahead(lane).map { |unit| offsets_of(unit) })
    end

    test "the base stays at the first incomplete record, and complete records beyond it are remembered" do
      lane = filled(%w[a b c])
      first, second, third = units_ahead(lane)
      settle(lane, third)
      settle(lane, second)
      assert_equal 0, lane.committable_offset
      assert_equal [[1, 3]], lane.ledger.ranges
      settle(lane, first)

      assert_equal 3, lane.committable_offset
      assert_empty lane.ledger.ranges
    end

    test "a key that fails is parked with its own back-off, the others continue" do
      lane = filled(%w[a b a])
      a, b = units_ahead(lane)
      settle(lane, a, error: RuntimeError.new, blamed: 0, now: 0)
      settle(lane, b, now: 0)
      admit(lane, keyed_batch(%w[b a], from: 3))
      assert_equal([[3]], units_ahead(lane).map { |unit| offsets_of(unit) })
      assert_equal 2_000, lane.division.next_due
      lane.division.expire(1_999)
      assert_nil lane.next_unit
      lane.division.expire(2_000)

      assert_equal [[0], 2], [offsets_of(again = lane.next_unit), again.attempt]
    end

    test "after a failure the key's records run one by one up to the blamed one" do
      lane = filled(%w[a a a a])
      settle(lane, lane.next_unit, error: RuntimeError.new, blamed: 1)
      lane.division.expire(2_000)
      [[0], [1]].each do |offsets|
        unit = lane.next_unit
        assert_equal offsets, offsets_of(unit)
        settle(lane, unit)
      end

      assert_equal [2, 3], offsets_of(lane.next_unit)
    end

    test "[collapse_until!] up to the highest requested offset records run one by one in the partition's order" do
      lane = filled(%w[a b a b c a b])
      running = lane.next_unit
      [4, 2].each { |offset| lane.division.collapse(offset) }
      assert_nil lane.next_unit, "what runs ends first"
      settle(lane, running, error: RuntimeError.new, blamed: 2)
      assert_nil lane.next_unit, "the first of all waits its back-off, and all with it"
      lane.division.expire(2_000)
      row = []
      while (unit = lane.next_unit)
        break row << [offsets_of(unit), unit.collapsed] unless unit.collapsed
        row << offsets_of(unit)
        assert_nil lane.next_unit
        settle(lane, unit)
      end

      assert_equal [[0], [1], [2], [3], [4], [[5], nil]], row
      assert_equal [6], offsets_of(lane.next_unit), "side by side again"
    end

    test "[collapse_until!] after a seek records run in parallel again" do
      lane = filled(%w[a b])
      lane.division.collapse(100)
      assert_equal [0], offsets_of(lane.next_unit)
      assert_nil lane.next_unit
      lane.reincarnate(10)
      admit(lane, keyed_batch(%w[c d], from: 10))

      assert_equal([[10], [11]], units_ahead(lane).map { |unit| offsets_of(unit) })
    end

    test "a mark covers the records before it in its unit" do
      lane = filled(%w[a b a b])
      a, b = units_ahead(lane)
      b.messages.last.mark_cell.mark(3)
      lane.take_marks

      assert_equal [0, 2], lane.ledger.incomplete_offsets
      a.messages.first.mark_cell.mark(0)
      lane.take_marks
      assert_equal [2], lane.ledger.incomplete_offsets
    end

    test "marked records don't run again when their unit fails" do
      lane = filled(%w[a a a])
      unit = lane.next_unit
      unit.messages.first.mark_cell.mark(0)
      settle(lane, unit, error: RuntimeError.new, blamed: 2)
      lane.division.expire(2_000)

      assert_equal [1], offsets_of(lane.next_unit)
    end

    test "attempts of a record that was marked before its unit failed are forgotten when the base has passed it" do
      lane = filled(%w[a b])
      unit = lane.next_unit
      unit.marks.mark(0)
      settle(lane, unit, error: RuntimeError.new, blamed: 0)
      settle(lane, lane.next_unit)
      assert_equal [2, {}], [lane.committable_offset, lane.attempts.to_h]
    end

    test "with manual offsets marks count after the unit has ended, from any attempt" do
      lane = filled(%w[a b], keyed(manual: true))
      first, second = units_ahead(lane)
      settle(lane, first)
      settle(lane, second)
      assert_equal 0, lane.committable_offset
      assert lane.division.unmarked?(0)
      first.messages.first.mark_cell.mark(0)
      lane.take_marks
      assert_equal [1, true], [lane.committable_offset, lane.division.unmarked?(1)]
      second.messages.first.mark_cell.mark(1)
      lane.take_marks

      assert_equal [2, false], [lane.committable_offset, lane.division.unmarked?(2)]
    end

    test "with manual offsets a record that runs again after a pause and is called back can still be marked by code that kept it" do
      lane = filled(%w[a b], keyed(manual: true))
      kept = lane.next_unit
      settle(lane, kept, flow: Consumer::Flow::Pause.new(nil, nil))
      lane.holds.release(:user)
      lane.put_back(units_ahead(lane))

      assert kept.messages.first.mark_cell.mark(0)
      lane.take_marks
      assert_equal 1, lane.committable_offset
    end

    test "a record that fails often doesn't leave a cell of each attempt in memory, and only its last message can be marked" do
      lane = filled(%w[a b], keyed(manual: true))
      firsts = []
      5.times do |attempt|
        unit = lane.next_unit
        firsts << unit.messages.first
        settle(lane, unit, error: RuntimeError.new, now: attempt)
        lane.division.release(unit.key)
        lane.take_marks
      end
      read = []
      lane.division.each_mark(0) { |unit| read << unit }
      assert_empty read
      refute firsts.find { |message| message.offset == 1 }.mark_cell.mark(1)
      lane.next_unit.messages.first.then { |last| assert last.mark_cell.mark(last.offset) }
      lane.take_marks
      assert_equal 1, lane.ledger.incomplete
    end

    test "[marks after revoke] a mark in a lane that was lost returns false and completes nothing" do
      lane = filled(%w[a])
      unit = lane.next_unit
      lane.end_ownership!

      refute unit.messages.first.mark_cell.mark(0)
      assert_equal 0, lane.committable_offset
    end

    test "a pause at an offset within the unit completes the records before it, and the rest runs again; without one, all" do
      [[2, 1, [[1, 3], [2, 4]]], [nil, 0, [[0, 2, 4], [1, 3]]]].each do |offset, committable, again|
        lane = filled(%w[a b a b a])
        settle(lane, lane.next_unit, flow: Consumer::Flow::Pause.new(offset, nil))
        lane.holds.release(:user)

        assert_equal committable, lane.committable_offset
        assert_equal again, units_ahead(lane).map { |each| offsets_of(each) }.sort
      end
    end

    test "units that never started come back to the front of their keys" do
      lane = filled(%w[a b a], keyed(max_messages: 1))
      a, b = units_ahead(lane)
      admit(lane, keyed_batch(%w[a], from: 3))
      lane.put_back([a, b])

      assert_equal([[0], [1]], [a, b].map { lane.next_unit }.map { |unit| offsets_of(unit) }.sort)
      assert_predicate lane, :by_key?
    end

    test "a record that waits for its back-off has bytes of its own" do
      lane = filled(%w[a a])
      unit = lane.next_unit
      batch = unit.messages.first.batch
      native = Object.new
      %i[offset payload key headers timestamp leader_epoch timestamp_type bytesize received_ms].each do |name|
        native.define_singleton_method(name) { |index| batch.public_send(name, index) }
      end
      %i[topic partition context size eof].each { |name| native.define_singleton_method(name) { batch.public_send(name) } }
      message = KeyedMessage.new(native, 1)
      copy = message.detached

      refute_same message, copy
      assert_equal [1, "p", "a"], [copy.offset, copy.raw_payload, copy.raw_key]
      assert_same copy, copy.detached
    end

    test "a copied record takes as many of the window's bytes as before, headers included" do
      native = Class.new(DelegateClass(Messages::MemoryBatch)) { def bytesize(_index) = 40 }
      lane = lane(keyed, committed: 0)
      admit(lane, native.new(keyed_batch(%w[a])))
      settle(lane, lane.next_unit, error: RuntimeError.new)
      lane.division.expire(2_000)
      settle(lane, lane.next_unit)

      assert_equal 0, lane.division.to_h[:bytes]
    end

    test "a payload that an attempt deserialized or cleared is deserialized again for the next" do
      lane = filled(%w[a])
      unit = lane.next_unit
      message = unit.messages.first
      message.payload
      message.clean!
      settle(lane, unit, error: RuntimeError.new, blamed: 0)
      lane.division.expire(2_000)

      assert_equal "p", lane.next_unit.messages.first.payload
    end

    test "a key that still runs stays busy in the lane's new incarnation, and others don't wait for it" do
      lane = filled(%w[a b])
      a, _b = units_ahead(lane)
      lane.reincarnate(0)
      admit(lane, keyed_batch(%w[a c]))
      assert_equal([[1]], units_ahead(lane).map { |unit| offsets_of(unit) })
      lane.returned(a)

      assert_equal [0], offsets_of(lane.next_unit)
    end

    test "units of an earlier assignment block only their keys" do
      old = filled(%w[a b])
      units_ahead(old)
      lane = lane(keyed, committed: 0)
      lane.division.block(old.division.busy_keys)
      admit(lane, keyed_batch(%w[a b c]))
      assert_equal([[2]], units_ahead(lane).map { |unit| offsets_of(unit) })
      lane.division.unblock("b")

      assert_equal [1], offsets_of(lane.next_unit)
    end

    test "records that a former owner completed beyond the committed offset don't run again" do
      lane = lane(keyed)
      lane.adopt(0, [[1, 3]])
      admit(lane, keyed_batch(%w[a b c d]))

      assert_equal([[0], [3]], units_ahead(lane).map { |unit| offsets_of(unit) })
    end

    test "a former owner's map, however full, doesn't prevent the records missing in it from being taken" do
      lane = lane(keyed(max_messages: 10))
      last = 6_000
      lane.adopt(0, (1...last).step(3).map { |offset| [offset, offset + 2] })
      assert lane.commit_state.metadata_nearly_full?
      while lane.committable_offset < last
        assert_includes (lane.commit_state.metadata_nearly_full? ? 1..10 : 1..1_000), lane.wanted, "at #{lane.committable_offset}"
        keys = Array.new([lane.wanted, 10].min) { |index| "k#{index}" }
        admit(lane, keyed_batch(keys, from: lane.ledger.tail, full: true))
        assert_equal 0, lane.wanted if lane.commit_state.metadata_nearly_full? && lane.ledger.incomplete.positive?
        units_ahead(lane).each { |unit| settle(lane, unit) }
      end
    end

    test "records that a former owner was retrying wait their back-off again, alone, and others don't wait" do
      lane = lane(keyed)
      lane.adopt(0, [])
      lane.retry_adopted({1 => 2}, 4_000)
      admit(lane, keyed_batch(%w[a b c b]))
      assert_equal([[0], [2]], units_ahead(lane).map { |unit| offsets_of(unit) })
      lane.division.expire(4_000)

      assert_equal [[1], 3], [offsets_of(unit = lane.next_unit), unit.attempt]
    end

    # In any order of events every record is admitted once, runs at least once, never before or at the same time as another of
    # its key, and in the end everything is complete.
    test "a record that runs again is new to user code: neither cleared, changed nor frozen" do
      lane = filled(%w[a a])
      unit = lane.next_unit
      unit.messages.each(&:clean!)
      unit.messages.each(&:freeze)
      settle(lane, unit, error: RuntimeError.new, blamed: 0)
      lane.division.expire(2_000)
      again = lane.next_unit
      assert_equal %w[p], again.messages.map(&:payload)
      assert_same again.marks, again.messages.first.mark_cell
    end

    test "any order of successes, failures, marks and call backs completes everything, in order by key" do
      60.times { |seed| play(seed) }
    end

    private

    def play(seed)
      random = Random.new(seed)
      keys = Array.new(40) { "k#{random.rand(6)}" }
      lane = filled(keys, keyed(max_messages: 1 + random.rand(5)))
      now, out, done = 0, [], Hash.new { |known, key| known[key] = [] }
      2_000.times do
        break if lane.committable_offset == 40
        now += random.rand(1_500)
        lane.division.expire(now)
        while (unit = lane.next_unit)
          refute out.any? { |other| other.key == unit.key }, "seed #{seed}: two units of #{unit.key}"
          out << unit
        end
        step(lane, out, done, random, now)
      end

      assert_equal 40, lane.committable_offset, "seed #{seed}: #{lane.snapshot}"
      assert lane.ledger.dry?
      done.each_value { |offsets| assert_equal offsets.uniq.sort, offsets.uniq, "seed #{seed}" }
    end

    def step(lane, out, done, random, now)
      return if out.empty?
      unit = out.delete_at(random.rand(out.size))
      case random.rand(4)
      when 0 then lane.put_back([unit])
      when 1 then settle(lane, unit, error: RuntimeError.new, blamed: offsets_of(unit).sample(random: random), now: now)
      when 2
        unit.messages.first.mark_cell.mark(unit.messages.first_offset)
        done[unit.key] << unit.messages.first_offset
        settle(lane, unit, error: RuntimeError.new, blamed: unit.messages.last_offset, now: now)
      else
        done[unit.key].concat(offsets_of(unit))
        settle(lane, unit, now: now)
      end
    end

    test "a snapshot, which any thread may take, doesn't keep the poll loop from adding a key" do
      lane = filled(%w[a])
      messages = lane.division.instance_variable_get(:@runs).fetch("a").messages
      added = Thread::Queue.new
      meanwhile = -> { Thread.new { added << admit(lane, keyed_batch(%w[b], from: 1)) }.join }
      messages.define_singleton_method(:size) { super().tap { meanwhile.call if added.empty? } }
      assert_equal 1, lane.snapshot[:backlog]
      assert_equal 2, lane.snapshot[:keys]
    end
  end
end
