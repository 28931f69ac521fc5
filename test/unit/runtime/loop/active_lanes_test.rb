# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/runtime/loop/active_lanes"

module Penstock
  # Which lanes a turn of the loop looks at.
  class ActiveLanesTest < TestCase
    include TestSupport::Lanes

    def setup
      @lanes = Array.new(3) { rested }
      @current = @lanes.to_h { |lane| [lane, true] }.compare_by_identity
      @active = Runtime::ActiveLanes.new(@current)
    end

    # A lane that was opened, and whose source had no records.
    def rested(*given, **more)
      lane(*given, committed: 0, **more).tap { |lane| lane.takes.ready = false }
    end

    test "inactive lanes are dropped, the others stay" do
      @active.add_all
      assert_equal @lanes, @active.to_a
      @lanes[1].takes.ready = true
      @active.drop_inactive
      assert_equal [@lanes[1]], @active.to_a
      @active.remove(@lanes[1])
      assert_empty @active.to_a
    end

    test "a lane that gets something to do is added once; what was read before stays as it was" do
      2.times { @active.add(@lanes[2]) }
      before = @active.to_a
      assert_equal [@lanes[2]], before
      @active.add(@lanes[0])
      assert_equal [[@lanes[2]], [@lanes[2], @lanes[0]]], [before, @active.to_a]
    end

    test "a lane that was revoked or replaced isn't added" do
      @current.delete(@lanes[0])
      @active.add(@lanes[0])
      assert_empty @active.to_a
    end

    test "a lane is active while it has records, units, a hold, a letter or a suspect" do
      changes = {
        "its source has records" => ->(lane) { lane.takes.ready = true },
        "records wait" => ->(lane) { admit(lane, batch([0], from: 0)) && lane.takes.ready = false },
        "a unit runs" => ->(lane) { lane.action_unit(:eofed, []) },
        "it is held" => ->(lane) { lane.holds.add(:user) },
        "a letter is on its way" => ->(lane) { lane.letter_sent },
        "a filter is asked" => ->(lane) { lane.intake.preparing = 0 },
        "admission waits" => ->(lane) { lane.intake.wait(:throttle, 5) },
        "a filter wants to continue elsewhere" => ->(lane) { lane.intake.seek_to = 7 },
        "a former owner's record is retried" => ->(lane) { lane.retry_adopted({3 => 1}, 5) },
        "a hook runs" => ->(lane) { lane.action_unit(:revoked, []) },
        "it begins a new incarnation" => ->(lane) { lane.reincarnate(4) },
        **Processing::Holds::REASONS.to_h { |reason| ["hold #{reason}", ->(lane) { lane.holds.add(reason, 5) }] }
      }
      changes.each do |reason, change|
        lane = rested
        assert_predicate lane, :inactive?, reason
        change.call(lane)
        refute_predicate lane, :inactive?, reason
      end
    end

    test "a lane whose records have run and aren't marked is active: marks don't wake the loop" do
      lane = rested
      admit(lane, batch([0], from: 0))
      lane.takes.ready = false
      lane.returned(lane.next_unit)
      refute_predicate lane, :inactive?
      lane.complete_through(1)
      assert_predicate lane, :inactive?
    end
  end
end
