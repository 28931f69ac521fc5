# frozen_string_literal: true

require "test_helper"
require "penstock/processing/failure/suspects"
require "penstock/processing/ledger"
require "penstock/routing/features/quarantine"

module Penstock
  class SuspectsTest < TestCase
    Records = Struct.new(:offsets) do
      def first_offset = offsets.first
    end
    Unit = Struct.new(:messages) do
      def consume? = true
    end

    def suspects(max = 3, remote: false, unclean: nil, crashes: {}, clean: false)
      one = Processing::Failure::Suspects.new(Routing::Quarantine.new(max), remote: remote)
      one.adopt(unclean: unclean, crashes: crashes, clean: clean) if unclean
      one.told = true
      one
    end

    def unit(*offsets) = Unit.new(Records.new(offsets))

    def ledger(base, tail)
      Processing::Ledger.new.tap do |ledger|
        ledger.reset(base)
        ledger.admit(base, tail, nil)
      end
    end

    # The life of one record that kills the process, owner after owner; answers what each owner did about it.
    def lives(max: 3, offset: 10)
      told = {unclean: 0, crashes: {}}
      Array.new(7) do
        one = suspects(max, **told)
        one.ends_at(13)
        step = one.step(offset)
        one.announce(unit(offset)) if step == :announce
        told = {unclean: one.unclean, crashes: one.counts(offset)}
        step
      end
    end

    test "one kill makes no lane serial, the second does, and the third crash alone is the last" do
      assert_equal %i[run announce announce announce quarantine quarantine quarantine], lives
      assert_equal %i[run announce quarantine], lives(max: 1).first(3)
    end

    test "a clean end, a new group and another's metadata make no suspects" do
      [suspects(unclean: 5, clean: true), suspects].each do |one|
        assert_equal [0, :run, true, false], [one.unclean, one.step(1), one.quiet?, one.alone?]
      end
    end

    test "as long as the adoption isn't committed nothing is handed out" do
      one = Processing::Failure::Suspects.new(Routing::Quarantine.new(3))
      assert_equal [false, true], [one.quiet?, one.changed?]
      one.told = true
      one.written!
      assert_equal [true, false], [one.quiet?, one.changed?]
    end

    test "what was written after the adoption is no suspect, and what has ended is none any more" do
      one = suspects(unclean: 1)
      assert one.suspect?(50), "before the end of the log is known everything is"
      assert one.ends_at(12)
      refute one.ends_at(13), "it is told once"
      one.ended(unit(10))
      assert_equal [false, true, false], [10, 11, 12].map { |offset| one.suspect?(offset) }
      assert_equal :run, one.step(12)
    end

    test "when all that was there has had its turn the row of unclean adoptions is over, whatever is retried" do
      one = suspects(unclean: 1)
      ledger = ledger(10, 14)
      one.ends_at(12)
      one.ended(unit(10))
      one.look(ledger)
      assert one.alone?
      ledger.complete(11)
      one.look(ledger)
      assert_equal [false, 0, true], [one.alone?, one.unclean, one.quiet?], "10 has failed and waits for its next attempt"
    end

    test "no more than a thousand records are tried alone" do
      one = suspects(unclean: 1)
      one.ends_at(nil)
      Processing::Failure::Suspects::MOST.times { |offset| one.ended(unit(offset)) }
      assert_equal [true, 0], [one.quiet?, one.unclean]
    end

    test "its end clears it, however it ended" do
      one = suspects(unclean: 1, crashes: {10 => 1})
      one.announce(unit(10))
      assert_equal [{10 => 2}, true], [one.counts(0), one.announced?]
      one.ended(unit(10))
      assert_equal [{}, false], [one.counts(0), one.announced?]
    end

    test "a suspect that was called back before it ran isn't counted, nor one whose lane is given up in order" do
      one = suspects(unclean: 1, crashes: {10 => 1})
      2.times do
        one.announce(held = unit(10))
        assert_same held, one.take_held
        one.leave
        one.returned([held])
        assert_equal({10 => 1}, one.counts(0))
        assert_equal :announce, one.step(10)
      end
      one.announce(unit(10))
      one.returned([unit(11)])
      assert_equal({10 => 2}, one.counts(0))
    end

    # The gate looks at that: as long as it is announced, none of another lane may be tried.
    test "a suspect that still runs when its lane is given up is waited for until it ends" do
      one = suspects(unclean: 1)
      one.ends_at(13)
      one.announce(unit(10))
      one.leave
      one.look(ledger(13, 13))
      refute one.quiet?
      one.ended(unit(10))

      assert_equal [false, true], [one.announced?, one.quiet?]
    end

    test "of what the group says only this process's own count is none, as long as the group may say it" do
      one = suspects(unclean: 1, crashes: {10 => 1})
      [10, 11].each do |offset|
        one.announce(held = unit(offset))
        one.ended(held)
      end
      one.adopt(unclean: 1, crashes: {10 => 2, 11 => 1, 12 => 1}, clean: false)
      assert_equal({10 => 1, 12 => 1}, one.counts(0))
      one.adopt(unclean: 1, crashes: {10 => 1}, clean: false)
      assert_equal({10 => 1}, one.counts(0), "a commit of before")
      one.announce(unit(12))
      one.written_alone!
      one.adopt(unclean: 1, crashes: {10 => 2, 12 => 1}, clean: false)
      assert_equal({10 => 2, 12 => 1}, one.counts(0))
    end

    test "a record that was counted is tried alone again after a single kill too" do
      one = suspects(unclean: 0, crashes: {11 => 2})
      assert_equal %i[run announce run], [10, 11, 12].map { |offset| one.step(offset) }
      assert_equal [true, true, false], [one.alone?, one.prime?(11), one.prime?(10)]
    end

    test "what is put away doesn't keep the others apart, and what is complete by other means is forgotten" do
      one = suspects(unclean: 0, crashes: {11 => 3})
      assert_equal [false, :quarantine], [one.alone?, one.step(11)]
      ledger = ledger(10, 12)
      ledger.complete(11)
      one.look(ledger)
      assert one.quiet?
    end

    test "where user code runs in a process of its own only the record it died of counts, at once" do
      one = suspects(remote: true, unclean: 7)
      assert_equal [true, false, :run], [one.quiet?, one.alone?, one.step(10)]
      3.times do |count|
        assert_equal :run, one.step(11)
        one.ended(unit(10, 11), died: 11)
        assert_equal({11 => count + 1}, one.counts(0))
      end
      assert_equal [:quarantine, :run, false], [one.step(11), one.step(10), one.alone?]
    end

    test "a seek drops everything" do
      one = suspects(unclean: 1, crashes: {10 => 2})
      one.clear
      assert_equal [true, :run], [one.quiet?, one.step(10)]
    end
  end
end
