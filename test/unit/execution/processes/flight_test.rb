# frozen_string_literal: true

require "test_helper"
require "penstock/consumer/marks"
require "penstock/errors"
require "penstock/execution/processes/flight"
require "penstock/processing/unit"

module Penstock
  class ExecutionProcessFlightTest < TestCase
    Lane = Struct.new(:marks, :incarnation)
    Slot = Struct.new(:link) do
      def pool = self
      def take(_unit) = self
      def give_back(_context) = nil
    end

    def before_setup
      super
      @lane = Lane.new(Consumer::Marks.new, 2)
      @flight = Execution::Processes::Flight.new
      @entry = @flight.add(Slot.new(:link), Processing::Unit.new(@lane, :consume, [], 0, 1, 2))
    end

    test "what hadn't begun in a process may begin in another" do
      assert_predicate @entry, :wanted?
    end

    test "what hadn't begun in a process when its partition is given up doesn't begin in another" do
      @lane.marks.leave!
      refute_predicate @entry, :wanted?
    end

    test "what hadn't begun in a process when its lane begins anew doesn't begin in another" do
      @lane.incarnation = 3
      refute_predicate @entry, :wanted?
    end

    test "what was interrupted before it began doesn't begin" do
      assert_equal [@entry.unit], @flight.interrupt([@lane], Interrupted.new)
      refute_predicate @entry, :wanted?
    end

    test "a unit's lane is known when it has come back" do
      @flight.delete(@entry.id)
      home = @flight.home(@entry.id)

      assert_equal [nil, @lane, :link], [@flight[@entry.id], home.lane, home.link]
    end
  end
end
