# frozen_string_literal: true

require "test_helper"
require "support/lanes"

module Penstock
  class CommitStateTest < TestCase
    include TestSupport::Lanes

    test "adopted metadata, which is committed again, reduces the room for the map" do
      pressed = [nil, "x" * 1_024, "x" * 4_000].map do |metadata|
        lane = lane(committed: 0)
        lane.adopt(0, Array.new(950) { |index| [index * 7 + 1 + index % 5, index * 7 + 3 + index % 5] })
        lane.commit_state.adopted_metadata = metadata
        lane.commit_state.metadata_nearly_full?
      end
      assert_equal [false, true, true], pressed
    end

    test "nothing may be committed while a transaction carries the offset, or while the offset is doubtful" do
      state = (lane = lane(committed: 3)).commit_state
      assert_equal [true, true], [state.doubtful?, state.undecided?] # the source hasn't begun yet
      confirm_start(lane)
      refute state.undecided?
      lane.offset_slot.add(:claim)
      lane.offset_slot.grant(:claim)
      assert state.undecided?
      lane.offset_slot.close(:claim)
      state.doubtful = true
      assert_equal [true, true], [state.doubtful?, state.undecided?]
      state.doubtful = false
      refute state.undecided?
    end

    test "there is something to commit when the offset, the map beyond it, or an attempt has changed" do
      lane = lane(committed: 0)
      admit(lane, batch(0..5, from: 0))
      state = lane.commit_state
      changes = [-> { lane.complete_through(1) }, -> { lane.drop([3]) }, -> { lane.attempts.fail(1) }]
      changes.each do |change|
        refute state.uncommitted?
        change.call
        assert state.uncommitted?
        state.committed(lane.committable_offset)
        lane.attempts.written!
      end
      assert_equal [1, false], [state.offset, state.uncommitted?]
    end
  end
end
