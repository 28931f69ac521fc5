# frozen_string_literal: true

require "test_helper"
require "support/redelivered"

module Penstock
  # Manual offsets, in order: after an error everything since the last mark is redelivered, also from earlier calls.
  class RedeliveryTest < TestCase
    include TestSupport::Redelivered

    test "records of earlier calls that were never marked are redelivered with those of the call that failed, in order" do
      lane = manual(12)
      gather(lane, 2)
      settle(lane, lane.next_unit, error: IOError.new)

      assert_nil lane.next_unit
      assert_equal 0, lane.wanted
      assert_equal 0, go_back(lane)
      assert_equal 0, lane.takes.next_offset
      admit(lane, batch(0...12, from: 0))
      again = units(lane)
      assert_equal [[0, 1, 2, 3], [4, 5, 6, 7], [8], [9], [10], [11]], again
      assert_equal [0, 12, 12], [lane.ledger.base, lane.ledger.tail, lane.ledger.incomplete]
    end

    test "nothing is counted twice, and later records are taken as usual" do
      lane = manual(8)
      gather(lane, 1)
      settle(lane, lane.next_unit, error: IOError.new)
      go_back(lane)
      admit(lane, batch(0..5, from: 0))
      assert_equal 6, lane.takes.next_offset
      admit(lane, batch(6..9, from: 6))

      assert_equal [10, 10], [lane.takes.next_offset, lane.ledger.tail]
      assert_equal 10, lane.ledger.incomplete
      assert_equal (0..9).to_a, units(lane).flatten
    end

    test "records marked before the error aren't redelivered; if all handed-out records are marked, none is" do
      lane = manual(8)
      first = lane.next_unit
      first.messages[1].mark_cell.mark(1)
      settle(lane, first)
      settle(lane, lane.next_unit, error: IOError.new)
      assert_equal 2, go_back(lane)

      lane = manual(8)
      first = lane.next_unit
      first.messages[3].mark_cell.mark(3)
      settle(lane, first)
      settle(lane, lane.next_unit, error: IOError.new)
      refute lane.holds.include?(:redelivery)
      lane.holds.expire(1_000_000)
      assert_equal [[4], [5], [6], [7]], units(lane)
    end

    test "a mark that returned true between the error and the return counts" do
      lane = manual(8)
      kept = lane.next_unit
      settle(lane, kept)
      failed = lane.next_unit
      assert kept.messages[3].mark_cell.mark(3)
      settle(lane, failed, error: IOError.new)

      assert_equal 4, lane.ledger.base
    end

    test "marks of messages handed out before the error return false; marks of the redelivered messages count" do
      lane = manual(8)
      old = lane.next_unit
      settle(lane, old)
      failed = lane.next_unit
      settle(lane, failed, error: IOError.new)

      [old, failed].each { |unit| refute unit.messages.last.mark_cell.mark(7) }
      lane.take_marks
      assert_equal 0, lane.ledger.base
      go_back(lane)
      admit(lane, batch(0...8, from: 0))
      assert lane.next_unit.messages.last.mark_cell.mark(3)
      lane.take_marks
      assert_equal 4, lane.ledger.base
    end

    test "messages buffered at the time of the error, and later ones, are marked in the current cell" do
      lane = manual(12)
      settle(lane, lane.next_unit, error: IOError.new)
      lane.holds.expire(1_000_000)
      3.times { settle(lane, lane.next_unit) } # 0, 1, 2 alone
      settle(lane, lane.next_unit)
      behind = lane.next_unit

      assert_equal [4, 5, 6, 7], offsets_of(behind)
      assert behind.messages.last.mark_cell.mark(7)
      lane.take_marks
      assert_equal 8, lane.ledger.base
    end

    test "metadata, and the state that the partition is being revoked, outlive the error" do
      lane = manual(4)
      lane.marks.store_metadata("note")
      unit = lane.next_unit
      lane.leave!
      settle(lane, unit, error: IOError.new)

      assert_equal ["note", true, true], [lane.marks.metadata, lane.marks.leaving?, lane.marks.owned?]
      lane.cut_off!
      refute lane.marks.owned?
    end

    test "a dead letter's record isn't redelivered, marked or not; records gathered before it are, once it is acknowledged" do
      [nil, true, false].each do |complete|
        lane = manual(8, features: dead_letters(0, mark_after_dispatch: complete))
        gather(lane, 1)
        unit = lane.next_unit
        letter, = fail_at(lane, unit, 5)
        lane.holds.expire(1_000_000)
        refute lane.redelivery.due?
        acknowledge(lane, letter)
        assert_equal 0, go_back(lane)
        admit(lane, batch(0...8, from: 0))

        assert_equal [0, 1, 2, 3, 4, 6, 7], units(lane).flatten, "mark_after_dispatch: #{complete.inspect}"
        assert_equal complete || false, lane.ledger.complete?(5)
      end
    end

    test "a redelivered record that failed before runs alone, so that its next failure is counted where it is known" do
      lane = manual(12, features: dead_letters(3))
      gather(lane, 1)
      fail_at(lane, lane.next_unit, 5)
      go_back(lane)
      admit(lane, batch(0...12, from: 0))
      settle(lane, lane.next_unit) until lane.division.size <= 6 # offsets 0 to 5 have run again, and nothing was marked
      fail_at(lane, lane.next_unit, 9)
      go_back(lane)
      admit(lane, batch(0...12, from: 0))

      again = units(lane)
      assert_equal (0..11).to_a, again.flatten
      assert_equal [[5], [9]], again.select { |offsets| offsets.intersect?([5, 9]) }
    end

    test "so it does when another record's dead letter makes it come again" do
      lane = manual(12, features: dead_letters(1))
      lane.division.record_time(1) # so quick that units are handed out ahead
      gather(lane, 1)
      fail_at(lane, lane.next_unit, 5)
      2.times do
        go_back(lane)
        admit(lane, batch(0...12, from: 0))
        ahead = [lane.next_unit]
        until ahead.first.messages.last_offset >= 9
          ahead.push(*units_ahead(lane))
          settle(lane, ahead.shift)
        end
        letters = fail_at(lane, ahead.shift, 9)
        lane.put_back(ahead)
        letters.each { |letter| acknowledge(lane, letter) }
      end
      go_back(lane)
      admit(lane, batch(0...12, from: 0))

      again = units(lane)
      assert_equal (0..11).to_a - [9], again.flatten
      assert_includes again, [5]
    end

    # A record has failed; before it runs again, another call fails that makes everything come again.
    # @yieldparam lane [Processing::Lane] with units handed out beyond the record
    # @yieldparam ahead [Array<Processing::Unit>] the first of them has not run yet
    def failed_before(features)
      lane = manual(12, features: {**dead_letters(1), **features})
      lane.division.record_time(1) # so quick that units are handed out ahead
      gather(lane, 1)
      fail_at(lane, lane.next_unit, 5)
      go_back(lane)
      admit(lane, batch(0...12, from: 0))
      settle(lane, lane.next_unit)
      ahead = units_ahead(lane)
      assert_operator ahead.last.messages.first_offset, :>, 5
      yield lane, ahead
      lane.holds.release(:breaker)
      go_back(lane)
      admit(lane, batch(0...12, from: 0))
      units(lane)
    end

    test "so it does when an outage makes it come again" do
      opening = {breaker: breaking(outage_after: 1, outage_errors: ["IOError"])}
      again = failed_before(opening) do |lane, ahead|
        settled(lane, ahead.shift, error: IOError.new, blamed: 4)
        lane.put_back(ahead)
        assert lane.holds.include?(:breaker)
      end

      assert_equal (0..11).to_a, again.flatten
      assert_includes again, [5]
    end

    test "so it does when a tick that fails makes it come again" do
      again = failed_before({}) do |lane, ahead|
        settle(lane, ahead.shift)
        lane.put_back(ahead)
        settle(lane, lane.action_unit(:tick, Messages.new(batch([]))), error: IOError.new)
      end

      assert_equal (0..11).to_a, again.flatten
      assert_includes again, [5]
    end

    test "with isolate false it comes again with the records of its call" do
      again = failed_before({isolate: false}) do |lane, ahead|
        settle(lane, ahead.shift)
        lane.put_back(ahead)
        settle(lane, lane.action_unit(:tick, Messages.new(batch([]))), error: IOError.new)
      end

      assert_equal [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], again
    end

    test "a record that moves to a retry topic isn't redelivered, records gathered before it are" do
      lane = manual(8, features: {retry_topics: Routing::RetryTopics.new("orders", [5], "dead", 0), breaker: false})
      gather(lane, 1)
      unit = lane.next_unit
      letter, = fail_at(lane, unit, 6)
      acknowledge(lane, letter)
      go_back(lane)
      admit(lane, batch(0...8, from: 0))

      assert_equal [0, 1, 2, 3, 4, 5, 7], units(lane).flatten
    end

    test "a seek in the failed call applies: the lane begins there, and nothing is redelivered" do
      lane = manual(8)
      gather(lane, 1)
      ports = settle(lane, lane.next_unit, error: IOError.new, flow: Consumer::Flow::Seek.new(6))

      assert_equal [[["orders", 0], 6, :user]], ports.seeks
      refute lane.holds.include?(:redelivery)
    end

    test "a new incarnation of the lane forgets the records that were to be redelivered" do
      lane = manual(8)
      gather(lane, 1)
      settle(lane, lane.next_unit, error: IOError.new)
      lane.reincarnate(6)
      lane.holds.expire(1_000_000)

      assert_empty lane.holds.reasons
      assert_equal 6, lane.takes.next_offset
    end

    test "a pause requested by the failed call holds the lane first" do
      lane = manual(8)
      gather(lane, 1)
      settle(lane, lane.next_unit, error: IOError.new, flow: Consumer::Flow::Pause.new(nil, nil))
      lane.holds.expire(1_000_000)

      refute lane.redelivery.due?
      lane.holds.release(:user)
      assert lane.redelivery.due?
    end

    test "an error during a redelivery redelivers all of them again" do
      lane = manual(12)
      gather(lane, 2)
      settle(lane, lane.next_unit, error: IOError.new)
      go_back(lane)
      admit(lane, batch(0..5, from: 0))
      settle(lane, lane.next_unit)
      settle(lane, lane.next_unit, error: IOError.new)

      assert_equal 0, go_back(lane)
      admit(lane, batch(0...12, from: 0))
      assert_equal (0...12).to_a, units(lane).flatten
    end

    test "records that retention deleted meanwhile aren't redelivered, and hold up nothing" do
      lane = manual(8)
      gather(lane, 1)
      settle(lane, lane.next_unit, error: IOError.new)
      go_back(lane)
      ports = admit(lane, batch(3...8, from: 0), low: 3)

      assert_equal [["consumer.offset_reset", 3]], ports.events.map { |name, event| [name, event[:count]] }
      assert_equal 3, lane.ledger.base
      assert_equal [3, 4, 5, 6, 7], units(lane).flatten
    end

    # Only the failed call's last record is marked.
    def reading(count)
      lane = manual(count)
      gather(lane, 1)
      settle(lane, lane.next_unit, error: IOError.new)
      go_back(lane)
      lane
    end

    test "a source that went to the end of the log, because of retention, seeks to the remaining records to redeliver" do
      lane = reading(8)
      ports = admit(lane, batch(20...24, from: 0), low: 3)

      assert_equal [[["orders", 0], 3, :redelivery]], ports.seeks
      assert_equal [["consumer.offset_reset", 0, 3, 3]], offset_resets(ports)
      assert_equal [3, 3, 8], [lane.ledger.base, lane.takes.next_offset, lane.ledger.tail]
      admit(lane, batch(3...24, from: 3), low: 3)
      assert_equal (3...24).to_a, units(lane).flatten
    end

    test "so is one that did so in the middle of a take, after records that still existed" do
      lane = reading(12)
      ports = admit(lane, batch([0, 1, 2, 20, 21], from: 0), low: 5)

      assert_equal [[["orders", 0], 5, :redelivery]], ports.seeks
      assert_equal [["consumer.offset_reset", 3, 5, 2]], offset_resets(ports)
      admit(lane, batch(5...22, from: 5), low: 5)
      assert_equal [0, 1, 2, *5...22], units(lane).flatten
      assert_equal [true, 0], [lane.ledger.complete?(4), lane.ledger.base]
    end

    test "so is one that reached the end of the log there" do
      lane = reading(8)
      ports = admit(lane, batch([], from: 0, eof: 20), low: 3)

      assert_equal [[["orders", 0], 3, :redelivery]], ports.seeks
      assert_equal [["consumer.offset_reset", 0, 3, 3]], offset_resets(ports)
      assert_equal [3, 8, 3], [lane.ledger.base, lane.ledger.tail, lane.takes.next_offset]
    end

    test "a gap in the log isn't due to retention: there is no seek and no event" do
      lane = reading(8)
      ports = admit(lane, batch([3, 7, 8], from: 0), low: 0)

      assert_equal [[], [], [3, 7, 8]], [ports.seeks, ports.events, units(lane).flatten]
    end

    test "at the end of the log no deleted record is waited for" do
      lane = reading(8)
      ports = admit(lane, batch([], from: 0, eof: 8), low: 8)

      assert_equal [["consumer.offset_reset", 0, 8, 8]], offset_resets(ports)
      assert_equal [8, 8, 8], [lane.ledger.base, lane.ledger.tail, lane.takes.next_offset]
      assert_equal 0, lane.ledger.incomplete

      lane = reading(8)
      admit(lane, batch([0, 2], from: 0, eof: 8), low: 0) # the others were compacted
      assert_equal [[0, 2], 8, 2], [units(lane).flatten, lane.takes.next_offset, lane.ledger.incomplete]
    end

    test "an end of the log before the redelivered records is ignored" do
      lane = reading(8)
      admit(lane, batch([0, 1], from: 0, eof: 2), low: 0)

      assert_equal [2, 8], [lane.takes.next_offset, lane.ledger.incomplete]
    end

    def offset_resets(ports)
      ports.events.map { |name, event| [name, *event.values_at(:old_offset, :new_offset, :count)] }
    end

    test "a take with a gap checks only the offsets of the take, however many records are unmarked" do
      lane = manual(8)
      gather(lane, 1)
      settle(lane, lane.next_unit, error: IOError.new)
      go_back(lane)
      lane.ledger.define_singleton_method(:incomplete_offsets) { |limit| super(limit) }
      admit(lane, batch([0, 3, 4], from: 0))

      assert_equal [0, 3, 4], units(lane).flatten
      assert_equal [true, false], [lane.ledger.complete?(2), lane.ledger.complete?(5)]
    end

    test "a log that goes backwards while records are redelivered begins a new incarnation" do
      lane = manual(8)
      gather(lane, 1)
      first = lane.next_unit
      first.messages[0].mark_cell.mark(0)
      settle(lane, first, error: IOError.new)
      assert_equal 1, lane.redelivery.begin
      admit(lane, batch(0..2, from: 1))

      assert_equal [1, 0, 3], [lane.incarnation, lane.ledger.base, lane.takes.next_offset]
    end

    test "automatic offsets run the failed call again and nothing else, and marks of its messages count" do
      lane = filled(8, {}, max_messages: 4)
      settle(lane, lane.next_unit)
      unit = lane.next_unit
      settle(lane, unit, error: IOError.new)

      refute lane.holds.include?(:redelivery)
      assert unit.messages.last.mark_cell.mark(7)
    end
  end
end
