# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/assignment/revocation"

module Penstock
  class RevocationTest < TestCase
    include TestSupport::Lanes

    def setup
      @lane = lane(committed: 0)
      admit(@lane, batch(0..9, from: 0))
    end

    def revocation(lost: false) = Assignment::Revocation.new([@lane], lost: lost, deadline_ms: 1_000)

    test "units end, then hooks run, then offsets are acknowledged, then the revocation is answered" do
      unit = @lane.next_unit
      revocation = revocation()
      assert_equal :wait, revocation.step(0, committed: true)
      settle(@lane, unit)
      assert_equal :hooks, revocation.step(1, committed: true)
      hook = @lane.action_unit(:revoked, nil)
      assert_equal :wait, revocation.step(2, committed: true)
      @lane.returned(hook)
      assert_equal :commit, revocation.step(3, committed: true)
      assert_equal :wait, revocation.step(4, committed: false)
      assert_equal :answer, revocation.step(5, committed: true)
    end

    test "the deadline ends a revocation in every state" do
      [[], [0], [0, 1]].each do |steps|
        revocation = revocation()
        steps.each { |now| revocation.step(now, committed: false) }
        assert_equal :answer, revocation.step(1_000, committed: false)
        assert revocation.forced?
      end
    end

    test "a lost assignment is answered at once, without hooks or a commit" do
      @lane.next_unit
      revocation = revocation(lost: true)
      assert_equal :answer, revocation.step(0, committed: false)
      refute revocation.hooked?
    end

    test "an assignment that is lost during the revocation is answered at once" do
      @lane.next_unit
      revocation = revocation()
      revocation.step(0, committed: true)
      revocation.lose!
      assert_equal :answer, revocation.step(1, committed: true)
      assert revocation.lost?
    end

    test "a revocation names the lanes that had not ended" do
      @lane.next_unit
      assert_equal [@lane], revocation.unfinished
    end
  end
end
