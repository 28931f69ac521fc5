# frozen_string_literal: true

require "test_helper"
require "penstock/processing/failure/crash_counts"
require "penstock/processing/ledger"
require "penstock/routing/features/quarantine"

module Penstock
  class CrashCountsTest < TestCase
    Records = Struct.new(:offsets) do
      def first_offset = offsets.first
    end
    Unit = Struct.new(:messages) do
      def consume? = true
    end

    def suspects(max = 3, remote: false, unclean: nil, crashes: {}, clean: false)
      one = Processing::Failure::CrashCounts.new(Routing::Quarantine.new(max), remote: remote)
      one.adopt(unclean: unclean, crashes: crashes, clean: clean) if unclean
      one.recorded = true
      one
    end

    def unit(*offsets) = Unit.new(Records.new(offsets))

    def ledger(base, tail)
      Processing::Ledger.new.tap do |ledger|
        ledger.reset(base)
        ledger.admit(base, tail, nil)
      end
    end

    # Sends and acknowledges a commit with the present state.
    def acknowledge(one)
      one.written!
      one.acknowledged!
    end

    # Plays one record that kills the process, together with others, owner after owner; returns each owner's decision about it.
    def lives(max: 3, offset: 10)
      told = {unclean: 0, crashes: {}, clean: true}
      Array.new(8) do
        one = suspects(max, **told)
        one.set_end(13, 0)
        told = {**told, clean: false}
        next :run unless one.suspect?(offset)
        step = one.must_run_alone?(offset) ? one.step(offset) : :together
        (step == :together) ? one.announce_group(unit(offset, 11, 12)) : (one.announce(unit(offset)) if step == :announce)
        told = {unclean: one.unclean, crashes: one.counts(offset), clean: false}
        step
      end
    end

    test "a record that kills is found in a group, then alone, and is quarantined after the allowed number of crashes alone" do
      assert_equal %i[run together announce announce announce quarantine quarantine], lives.first(7)
      assert_equal %i[run together announce quarantine], lives(max: 1).first(4)
    end

    test "records that were under way with it aren't blamed: they run alone, once, and nothing counts against them" do
      one = suspects(unclean: 2, crashes: {10 => 0, 11 => 0})
      assert_equal [true, true, false], [10, 11, 12].map { |offset| one.must_run_alone?(offset) }
      [10, 11].each do |offset|
        one.announce(unit(offset))
        one.ended(unit(offset))
      end
      assert_equal [{}, false], [one.counts(0), one.one_at_a_time?]
    end

    test "after one unclean end groups are announced, and the lane isn't serialized" do
      one = suspects(unclean: 0)
      one.set_end(100, 0)
      assert_equal [true, false, false], [one.suspect?(10), one.one_at_a_time?, one.notable?]
      one.announce_group(held = unit(10, 11))
      assert_equal [{10 => 0, 11 => 0}, [], true], [one.counts(0), one.take_cleared, one.changed?]
      acknowledge(one)
      assert_equal [[held], false], [one.take_cleared, one.held?]
      one.ended(held)
      assert_equal [{}, false], [one.counts(0), one.announced?]
    end

    test "a commit that was sent before it was announced doesn't clear it" do
      one = suspects(unclean: 0)
      one.written!
      one.announce_group(held = unit(10))
      one.acknowledged!
      assert_empty one.take_cleared
      one.written!
      one.unwritten!
      one.acknowledged!
      assert_empty one.take_cleared, "it was not acknowledged, or went without it"
      acknowledge(one)
      assert_equal [held], one.take_cleared
    end

    test "groups are small: eight records at first, then a tenth of a second's worth, at most 32, at least one per worker" do
      one = suspects(unclean: 0)
      assert_equal [8, 11], [one.room(1), one.room(10)]
      one.announce_group(unit(1, 2, 3))
      assert_equal 5, one.room(1)
      one.ended(unit(1, 2, 3), time_us: 30)
      assert_equal 32, one.room(1)
      60.times { one.ended(unit(4), time_us: 20_000) }
      assert_equal [5, 25], [one.room(1), one.room(5)]
      90.times { one.ended(unit(4), time_us: 9_000_000) }
      assert_equal [2, 11, 65], [one.room(1), one.room(10), one.room(64)]
    end

    test "a clean end, a new group and another's metadata create no suspects" do
      [suspects(unclean: 5, clean: true), suspects].each do |one|
        assert_equal [0, false, true, false], [one.unclean, one.suspect?(1), one.nothing_to_check?, one.one_at_a_time?]
      end
    end

    test "nothing is handed out until the adoption is committed" do
      one = Processing::Failure::CrashCounts.new(Routing::Quarantine.new(3))
      assert_equal [false, true], [one.nothing_to_check?, one.changed?]
      one.recorded = true
      one.written!
      assert_equal [true, false], [one.nothing_to_check?, one.changed?]
    end

    test "records written after the adoption aren't suspects, and records that have ended no longer are" do
      one = suspects(unclean: 1)
      assert one.suspect?(50), "before the end of the log is known everything is"
      assert one.set_end(12, 0)
      refute one.set_end(13, 0), "it is set once"
      one.ended(unit(10))
      assert_equal [false, true, false], [10, 11, 12].map { |offset| one.suspect?(offset) }
    end

    test "when all first records have had their turn the count of unclean adoptions restarts, even if some are retried" do
      one = suspects(unclean: 1)
      ledger = ledger(10, 14)
      one.set_end(12, 0)
      one.ended(unit(10))
      one.update(ledger, 0)
      refute one.nothing_to_check?
      ledger.complete(11)
      one.update(ledger, 0)
      assert_equal [0, true], [one.unclean, one.nothing_to_check?], "10 has failed and waits for its next attempt"
    end

    test "no more than a thousand records are suspected" do
      one = suspects(unclean: 1)
      one.set_end(nil, 0)
      Processing::Failure::CrashCounts::MAX_SUSPECTS.times { |offset| one.ended(unit(offset)) }
      assert_equal [true, 0], [one.nothing_to_check?, one.unclean]
    end

    test "only records that were under way when a process died are suspected for longer than four seconds" do
      one = suspects(unclean: 0, crashes: {11 => 0})
      one.set_end(100, 50)
      one.update(ledger(10, 100), 4_049)
      assert one.suspect?(10)
      one.update(ledger(10, 100), 4_050)
      assert_equal [false, true, 0], [one.suspect?(10), one.suspect?(11), one.unclean]
    end

    test "the end of a unit clears its record, with or without an error" do
      one = suspects(unclean: 1, crashes: {10 => 1})
      one.announce(unit(10))
      assert_equal [{10 => 2}, true], [one.counts(0), one.announced?]
      one.ended(unit(10))
      assert_equal [{}, false], [one.counts(0), one.announced?]
    end

    test "a suspect that was called back before it ran isn't counted, nor one whose lane is revoked in order" do
      one = suspects(unclean: 1, crashes: {10 => 1})
      2.times do
        one.announce(held = unit(10))
        assert_equal [held], one.take_held
        one.leave
        one.returned([held])
        assert_equal({10 => 1}, one.counts(0))
        assert_equal :announce, one.step(10)
      end
      one.announce(unit(10))
      one.returned([unit(11)])
      assert_equal({10 => 2}, one.counts(0))
    end

    test "a group that was called back before it ran isn't announced, nor one whose lane is revoked in order" do
      one = suspects(unclean: 0)
      one.announce_group(held = unit(10, 11))
      one.returned(one.take_held)
      assert_equal [{}, false], [one.counts(0), one.announced?]
      one.announce_group(held)
      acknowledge(one)
      one.take_cleared
      one.leave
      assert_equal [{}, true, true], [one.counts(0), one.changed?, one.announced?], "it still runs"
      one.ended(held)
      refute one.announced?
    end

    # The gate checks this: as long as it is announced, no record of another lane may be tried.
    test "a suspect that still runs when its lane is revoked is waited for until it ends" do
      one = suspects(unclean: 1, crashes: {10 => 0})
      one.set_end(13, 0)
      one.announce(unit(10))
      one.take_held
      one.leave
      one.update(ledger(13, 13), 0)
      refute one.nothing_to_check?
      one.ended(unit(10))

      assert_equal [false, true], [one.announced?, one.nothing_to_check?]
    end

    test "a count from the group is ignored only if this process announced it itself and the group may still have it" do
      one = suspects(unclean: 1, crashes: {10 => 1, 11 => 0})
      [10, 11].each do |offset|
        one.announce(held = unit(offset))
        one.ended(held)
      end
      one.announce_group(group = unit(13, 14))
      one.adopt(unclean: 1, crashes: {10 => 2, 11 => 1, 12 => 1, 13 => 0, 15 => 0}, clean: false)
      assert_equal({10 => 1, 11 => 0, 12 => 1, 13 => 0, 14 => 0, 15 => 0}, one.counts(0))
      one.ended(group)
      assert_equal [10, 11, 12, 15], one.counts(0).keys
      one.adopt(unclean: 1, crashes: {10 => 1}, clean: false)
      assert_equal({10 => 1}, one.counts(0), "a commit of before")
      one.adopt(unclean: 1, crashes: {12 => 0}, clean: false)
      one.announce(unit(12))
      one.acknowledged!
      one.adopt(unclean: 1, crashes: {10 => 2, 12 => 1}, clean: false)
      assert_equal({10 => 2, 12 => 1}, one.counts(0))
    end

    test "a counted record is tried alone again, also after a single crash" do
      one = suspects(unclean: 0, crashes: {11 => 2}, clean: true)
      assert_equal [false, true, false], [10, 11, 12].map { |offset| one.suspect?(offset) }
      assert_equal [:announce, true, true, false], [one.step(11), one.one_at_a_time?, one.exclusive?(11), one.exclusive?(10)]
    end

    test "a quarantined record doesn't make the others run alone, and a record completed otherwise is forgotten" do
      one = suspects(unclean: 0, crashes: {11 => 3}, clean: true)
      assert_equal [false, :quarantine], [one.one_at_a_time?, one.step(11)]
      ledger = ledger(10, 12)
      ledger.complete(11)
      one.update(ledger, 0)
      assert one.nothing_to_check?
    end

    test "where user code runs in a process of its own only the record that killed it is counted, at once" do
      one = suspects(remote: true, unclean: 7)
      assert_equal [true, false, :run], [one.nothing_to_check?, one.one_at_a_time?, one.step(10)]
      3.times do |count|
        assert_equal :run, one.step(11)
        one.ended(unit(10, 11), died: 11)
        assert_equal({11 => count + 1}, one.counts(0))
      end
      assert_equal [:quarantine, :run, false], [one.step(11), one.step(10), one.one_at_a_time?]
    end

    test "a seek drops everything" do
      one = suspects(unclean: 1, crashes: {10 => 2})
      one.clear
      assert_equal [true, false], [one.nothing_to_check?, one.suspect?(10)]
    end

    test "an announced suspect is called back after the lane began again, or after its record was completed elsewhere" do
      one = suspects(unclean: 1, crashes: {10 => 1})
      [-> { one.clear }, -> { one.update(ledger(10, 11).tap { _1.complete(10) }, 0) }].each do |dropped|
        one.announce(held = unit(10))
        dropped.call
        one.take_held
        one.returned([held])
        one.leave

        assert_equal [{}, false], [one.counts(0), one.announced?]
      end
    end
  end
end
