# frozen_string_literal: true

require "test_helper"
require "penstock/clock"
require "penstock/consumer/marks"
require "penstock/execution/processes/child_watch"
require "penstock/execution/processes/shared_status"

module Penstock
  class ChildWatchTest < TestCase
    Entry = Struct.new(:id, :lane, :loop_client, :sent, :interrupt) do
      def mark(_through) = nil
    end
    Child = Struct.new(:changes) do
      def state = Execution::Processes::SharedStatus::State.new(1, 0, nil)
      def send_value(_type, value) = changes << value.last
    end
    InFlight = Struct.new(:entry) do
      def [](_id) = entry
      def to_a = [entry]
      def origin(_id) = entry
    end
    Context = Struct.new(:clock, :threads)

    def watch(marks)
      lane = Struct.new(:marks).new(marks)
      loop_client = Struct.new(:stopping?).new(false)
      @child = Child.new([])
      Execution::Processes::ChildWatch.new(@child, InFlight.new(Entry.new(1, lane, loop_client, [], nil)),
        Context.new(Clock::SYSTEM, nil))
    end

    test "of a lost partition the child learns only that it is lost: user code that sees revoked? can't mark any more" do
      watch(Consumer::Marks.new.tap(&:end_ownership!)).check(force: true)
      assert_equal %i[disowned], @child.changes
    end

    test "metadata of a mark is committed as outside of the pool: where metadata is exact, not before its record" do
      [[true, nil], [false, "note"]].each do |exact, below|
        marks = Consumer::Marks.new(exact: exact)
        watch(marks).request(1, :metadata, "note", 5)

        assert_equal [below, "note"], [marks.metadata_at(5), marks.metadata_at(6)]
      end
    end

    test "metadata without a mark is committed next; that of a mark counts no more when the partition is gone" do
      marks = Consumer::Marks.new(exact: true)
      watch(marks).request(1, :metadata, "note")
      assert_equal "note", marks.metadata_at(0)
      marks.end_ownership!
      watch(marks).request(1, :metadata, "late", 5)
      assert_equal "note", marks.metadata_at(6)
    end

    test "a partition that is being revoked can still be marked, until it is lost" do
      marks = Consumer::Marks.new.tap(&:leave!)
      one = watch(marks)
      2.times { one.check(force: true) }
      assert_equal %i[leaving], @child.changes
      marks.end_ownership!
      one.check(force: true)
      assert_equal %i[leaving disowned], @child.changes
    end
  end
end
