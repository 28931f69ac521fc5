# frozen_string_literal: true

require "test_helper"
require "support/lanes"

module Penstock
  class LostRecordsTest < TestCase
    include TestSupport::Lanes

    # @return [Array<Array>] old offset, new offset and count of the events that are emitted
    def lost(lane, batch, low)
      admit(lane, batch, low: low).events.map do |name, event|
        [name, *event.values_at(:old_offset, :new_offset, :count)].drop_while { |value| value == "consumer.offset_reset" }
      end
    end

    # @return [Processing::Lane] that has confirmed where it begins
    def running(committed, completed = [], to_end: false)
      lane(route).tap do |lane|
        lane.adopt(committed, completed)
        lane.takes.resets_to_end = lane.takes.start.to_end = to_end
        confirm_start(lane)
      end
    end

    test "deleted records are reported when the next record arrives, or the end of a log without one" do
      assert_equal [[100, 150, 50]], lost(running(100), batch(150..152, from: 100), 150)
      lane = running(100)
      assert_equal [[100, 150, 50]], lost(lane, batch([], from: 100, eof: 150), 150)
      assert_equal 150, lane.committable_offset
      assert_equal [[103, 150, 47]], lost(running(100), batch(100..102, from: 100, eof: 150), 150)
    end

    test "they are reported at the start, too, where the committed offset is checked" do
      assert_equal [[100, 150, 50]], lost(lane(committed: 100), batch([], from: 100, eof: 150), 150)
      to_end = lane(committed: 100)
      to_end.takes.resets_to_end = to_end.takes.start.to_end = true
      assert_equal [[100, 180, 80]], lost(to_end, batch([], from: 100, eof: 180), 150)
    end

    test "deleted records are found between two records that were buffered together" do
      assert_equal [[102, 150, 48]], lost(running(100), batch([100, 101, *150..152], from: 100), 150)
      assert_equal [[100, 120, 20], [122, 150, 28]], lost(running(100), batch([120, 121, 150], from: 100), 150)
    end

    test "a group that continues at the log's end then has read none of the records before it, deleted or not" do
      reason = /auto\.offset\.reset continues at the log's end/
      lane = running(100, to_end: true)
      ports = admit(lane, batch([], from: 100, eof: 180), low: 150)
      assert_equal [180, 80], ports.events[0][1].values_at(:new_offset, :count)
      assert_match reason, ports.events[0][1][:reason]
      assert_equal [[102, 180, 78]], lost(running(100, to_end: true), batch([100, 101, 180], from: 100), 150)
    end

    test "offsets without records after the low watermark aren't lost" do
      assert_equal [[100, 153, 50]], lost(running(100), batch([], from: 100, eof: 153), 150)
      assert_equal [[100, 153, 50]], lost(running(100), batch([153], from: 100), 150)
    end

    test "a gap where nothing was deleted isn't reported: markers, records of aborted transactions, compaction" do
      [nil, 0, 99, 100].each do |low|
        assert_empty lost(running(100), batch([], from: 100, eof: 105), low)
        assert_empty lost(running(100), batch([100, 104, 105], from: 100, eof: 107), low)
      end
      assert_empty lost(running(100), batch([100, *104..120], from: 100), 110), "deleted after they had been read"
    end

    test "an end of the log that was reached before accounts for what is in front of it: nothing is reported twice" do
      lane = running(100)
      assert_empty lost(lane, batch(100..102, from: 100, eof: 105), 0) # two markers
      assert_equal [[105, 150, 45]], lost(lane, batch([], from: 103, eof: 150), 150)
      assert_empty lost(lane, batch([], from: 103, eof: 151), 150)
      assert_equal [[151, 160, 9]], lost(lane, batch([160], from: 103), 160)
    end

    test "records that a former owner had completed aren't lost" do
      assert_equal [[3, 50, 1]], lost(running(3, [[4, 100]]), batch(50..99, from: 3), 50)
      assert_equal [[3, 50, 30]], lost(running(3, [[20, 30], [43, 60]]), batch([], from: 3, eof: 50), 50)
    end

    test "of records that are read again only those that weren't complete are lost" do
      lane = lane(route(manual: true), committed: 0)
      admit(lane, batch(0...8, from: 0))
      unit = lane.next_unit
      lane.complete(unit.messages.to_a.values_at(1, 2))
      lane.returned(unit)
      lane.holds.add(:redelivery)
      lane.redelivery.begin
      assert_equal [[0, 20, 18]], lost(lane, batch([], from: 0, eof: 20), 20)
      assert_equal 20, lane.committable_offset
    end
  end
end
