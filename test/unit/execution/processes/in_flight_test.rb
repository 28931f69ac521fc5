# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/consumer/marks"
require "penstock/errors"
require "penstock/execution/processes/in_flight"
require "penstock/processing/unit"
require "penstock/routing/features/parallel"

module Penstock
  class ExecutionProcessInFlightTest < TestCase
    include TestSupport::Lanes

    Lane = Struct.new(:marks, :incarnation)
    Slot = Struct.new(:loop_client) do
      def pool = self
      def take(_unit) = self
      def give_back(_context) = nil
    end

    def before_setup
      super
      @lane = Lane.new(Consumer::Marks.new, 2)
      @in_flight = Execution::Processes::InFlight.new
      @entry = @in_flight.add(Slot.new(:loop_client), Processing::Unit.new(@lane, :consume, [], 0, 1, 2))
    end

    test "a unit that hadn't begun in one process may begin in another" do
      assert_predicate @entry, :wanted?
    end

    test "a unit that hadn't begun when its partition is revoked doesn't begin in another process" do
      @lane.marks.leave!
      refute_predicate @entry, :wanted?
    end

    test "a unit that hadn't begun when its lane is reset doesn't begin in another process" do
      @lane.incarnation = 3
      refute_predicate @entry, :wanted?
    end

    test "a unit that was interrupted before it began doesn't begin" do
      assert_equal [@entry.unit], @in_flight.interrupt([@lane], Interrupted.new)
      refute_predicate @entry, :wanted?
    end

    def sent(**options)
      lane = lane(route(manual: true, **options), committed: 0)
      admit(lane, batch(0..2, from: 0))
      [lane, @in_flight.add(Slot.new(:loop_client), lane.next_unit)]
    end

    # A process learns of it up to 50 ms later, and has answered true until then.
    {"in order" => {}, "by message" => {parallel: Routing::Parallel.new(:message, 4, nil, false)}}.each do |way, features|
      test "marks that a process made before it learned that the stop's time is up count: #{way}" do
        lane, entry = sent(features: features)
        lane.cut_off!
        entry.mark(1)
        lane.take_marks
        assert_equal 1, lane.committable_offset
      end
    end

    test "marks that a process made before it learned that its partition is gone don't count" do
      lane, entry = sent
      lane.cut_off!
      lane.end_ownership!
      entry.mark(1)
      lane.take_marks
      assert_equal 0, lane.committable_offset
    end

    test "marks that a process made before its lane is reset don't count" do
      lane, entry = sent
      lane.cut_off!
      lane.reincarnate(0)
      entry.mark(1)
      lane.take_marks
      assert_equal 0, lane.committable_offset
    end

    test "marks of threads answer false as soon as the stop's time is up" do
      lane, = sent
      lane.cut_off!
      refute lane.marks.mark(0)
      assert_equal(-1, lane.marks.through)
    end

    test "a unit's lane is known after the unit has come back" do
      @in_flight.delete(@entry.id)
      origin = @in_flight.origin(@entry.id)

      assert_equal [nil, @lane, :loop_client], [@in_flight[@entry.id], origin.lane, origin.loop_client]
    end
  end
end
