# frozen_string_literal: true

require "test_helper"
require "penstock/consumer/marks"
require "penstock/consumer/unit_marks"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"

module Penstock
  # Records redelivered after an error are other messages, and are marked in another cell.
  class MarksAgainTest < TestCase
    Holder = Struct.new(:failures)

    test "a renewed cell begins without a mark and keeps everything else; the old one returns false from then on" do
      marks = Consumer::Marks.new
      marks.mark(7, "note")
      marks.carried!
      marks.leave!
      fresh = marks.renew

      assert_equal [8, false, false], [marks.through, marks.owned?, marks.mark(9)]
      assert_equal [-1, "note", true, true, true], [fresh.through, fresh.metadata, fresh.carried?, fresh.leaving?, fresh.owned?]
      assert fresh.mark(3)
      assert_equal [8, 4], [marks.through, fresh.through]
    end

    test "a late mark of a process of a pool doesn't count once the records are redelivered" do
      marks = Consumer::Marks.new
      marks.renew
      marks.reported(5)

      assert_equal(-1, marks.through)
    end

    test "a renewed cell of a partition that isn't ours isn't owned either" do
      marks = Consumer::Marks.new
      marks.end_ownership!

      refute marks.renew.mark(1)
    end

    test "metadata that waits for its record is kept in the renewed cell" do
      marks = Consumer::Marks.new(exact: true)
      cell = Consumer::UnitMarks.new(marks)
      cell.mark(3, "at three")

      assert_equal [nil, "at three"], marks.renew.then { |fresh| [fresh.metadata_at(3), fresh.metadata_at(4)] }
    end

    test "marks of a unit count until its consumer fails, or until it is closed" do
      lane = Consumer::Marks.new
      holder = Holder.new(0)
      failed, closed = Consumer::UnitMarks.new(lane), Consumer::UnitMarks.new(lane)
      failed.add_holder(holder)
      assert_equal [true, true], [failed.mark(1), closed.mark(1)]
      holder.failures += 1
      closed.close
      closed.reported(5)

      assert_equal [false, false, false, false], [failed.mark(2), failed.owned?, closed.mark(2), closed.owned?]
      assert_equal [1, 1, true], [failed.through, closed.through, lane.owned?]
    end

    test "marks of records given to two consumers, or twice to one, count until either fails" do
      one, two = Holder.new(0), Holder.new(0)
      [[one, two, one], [one, two, two], [one, one, one]].each do |first, second, fails|
        cell = Consumer::UnitMarks.new(Consumer::Marks.new)
        cell.add_holder(first)
        fails.failures += 1 if first.equal?(second) # before it gets them once more
        cell.add_holder(second)
        fails.failures += 1 unless first.equal?(second)

        assert_equal [false, true, true], [cell.mark(1), cell.held_by?(first), cell.held_by?(second)]
      end
      refute Consumer::UnitMarks.new(Consumer::Marks.new).held_by?(nil)
    end

    test "redelivered messages share nothing with the old ones except the record" do
      rows = [7, 9].map { |offset| Messages::MemoryBatch::Row.new(offset: offset, payload: "p#{offset}") }
      batch = Messages::MemoryBatch.new("orders", 0, rows)
      deserializers = Struct.new(:payload, :key, :headers, :text_parser).new(->(_) { +"text" }, ->(_) { "key" }, ->(_) { {} })
      batch.context = Messages::Context.new(deserializers, 0, old = Consumer::Marks.new)
      messages = Messages.new(batch)
      messages.first.payload << " changed"
      messages.last.clean!
      again = messages.again(fresh = Consumer::Marks.new)

      assert_equal [[7, "text"], [9, "text"]], again.map { |message| [message.offset, message.payload] }
      assert_equal [true, false, true, true], [messages.marked_in?(old), messages.marked_in?(fresh), again.marked_in?(fresh),
        again.again(old).marked_in?(old)]
    end
  end
end
