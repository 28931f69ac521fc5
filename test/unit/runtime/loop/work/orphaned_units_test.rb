# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/runtime/loop/work/orphaned_units"
require "penstock/runtime/loop/group/rebalances"

module Penstock
  # A partition waits for units that still run from its previous assignment, on its own connection and on others of the process.
  class OrphanedUnitsTest < TestCase
    include TestSupport::Lanes

    # The session's pool: which units of the process run.
    Session = Struct.new(:running, :orphaned_units) do
      def current?(_lane) = true
      def pool = self
    end

    # Lanes as other connections have them: the route's group counts.
    def lane_of(group)
      lane(route.tap { |topic| topic.define_singleton_method(:consumer_group_id) { group } }, committed: 0)
    end

    def setup
      @orphaned_units = Runtime::OrphanedUnits.new
      @lane = lane_of("group")
      @session = Session.new([], @orphaned_units)
      @rebalances = Runtime::Rebalances.allocate
      @rebalances.instance_variable_set(:@connection, @session)
    end

    def waits? = @rebalances.__send__(:wait_for_others, @lane)

    # @return [Processing::Unit] that runs in a lane that was revoked here
    def left_here
      old = lane_of("group")
      admit(old, batch(0..0, from: 0))
      old.next_unit.tap do |unit|
        @orphaned_units.add(old)
        @orphaned_units.hold(@lane)
      end
    end

    def ends(unit)
      unit.lane.returned(unit)
      @orphaned_units.ended(unit.lane, unit, @lane)
    end

    def runs_elsewhere(group = "group") = @session.running << [nil, Processing::Unit.new(lane_of(group), :consume)]

    test "the end of a unit on this connection doesn't release a partition held for a unit of another connection" do
      unit = left_here
      runs_elsewhere
      assert waits?
      ends(unit)
      assert_equal [:other_connection], @lane.holds.reasons
      @session.running.clear
      refute waits?
      assert @lane.holds.open?
    end

    test "the end of a unit on another connection doesn't release a partition held for a unit of this one" do
      unit = left_here
      runs_elsewhere
      assert waits?
      @session.running.clear
      refute waits?
      assert_equal [:previous_epoch], @lane.holds.reasons
      ends(unit)
      assert @lane.holds.open?
    end

    test "a unit of another group holds no partition" do
      runs_elsewhere("other")
      refute waits?
    end
  end
end
