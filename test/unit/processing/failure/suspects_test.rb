# frozen_string_literal: true

require "test_helper"
require "penstock/processing/failure/suspects"
require "penstock/routing/features/quarantine"

module Penstock
  class SuspectsTest < TestCase
    def suspects(max = 3, **facts)
      Processing::Failure::Suspects.new(Routing::Quarantine.new(max), **facts)
    end

    # The life of one record that kills the process, owner after owner; answers what each owner did about it.
    def lives(max: 3, offset: 10, window: [10, 11, 12])
      told = {unclean: 0, crashes: {}}
      Array.new(7) do
        one = suspects(max, clean: false, **told)
        one.watch(window)
        step = one.step(offset)
        if step == :announce
          one.announce(offset)
          one.cleared(offset)
        end
        told = {unclean: one.unclean, crashes: one.to_h}
        step
      end
    end

    test "one kill makes no lane serial, the second does, and the third crash alone is the last" do
      assert_equal %i[run announce announce announce quarantine quarantine quarantine], lives
    end

    test "a clean end, a new group and another's metadata make no suspects" do
      [{unclean: 5, clean: true}, {unclean: 5, clean: false, ours: false}, {}].each do |facts|
        one = suspects(**facts)
        one.watch([1, 2])
        refute_predicate one, :any?
        assert_equal [0, :run], [one.unclean, one.step(1)]
      end
    end

    test "only the first window is suspect" do
      one = suspects(unclean: 1, clean: false)
      assert one.suspect?(50), "before the first records are at hand everything is"
      one.watch([10, 11])
      assert_equal [true, true, false], [10, 11, 12].map { |offset| one.suspect?(offset) }
      assert_equal :run, one.step(12)
    end

    test "a suspect runs only when its count is acknowledged" do
      one = suspects(unclean: 1, clean: false)
      one.watch([10])
      assert_equal :announce, one.step(10)
      one.announce(10)
      assert_equal [:wait, {10 => 1}], [one.step(10), one.to_h]
      one.cleared(10)
      assert_equal :run, one.step(10)
    end

    test "its end clears it, however it ended, and the end of the window ends the row of unclean adoptions" do
      one = suspects(unclean: 1, clean: false)
      one.watch([10, 11])
      [10, 11].each do |offset|
        one.announce(offset)
        one.cleared(offset)
        one.ended(offset)
      end
      assert_equal [{}, 0, false], [one.to_h, one.unclean, one.any?]
    end

    test "a suspect that was called back before it ran isn't counted" do
      one = suspects(unclean: 1, clean: false, crashes: {10 => 1})
      one.watch([10])
      one.announce(10)
      one.returned(10)
      assert_equal({10 => 1}, one.to_h)
      assert_equal :announce, one.step(10)
    end

    test "a record that was counted is tried alone again after a single kill too" do
      one = suspects(unclean: 0, clean: false, crashes: {11 => 2})
      one.watch([10, 11, 12])
      assert_equal %i[run announce run], [10, 11, 12].map { |offset| one.step(offset) }
    end
  end
end
