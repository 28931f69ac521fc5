# frozen_string_literal: true

require "delegate"
require "test_helper"
require "support/lanes"
require "penstock/assignment/commits"

module Penstock
  class CommitsTest < TestCase
    include TestSupport::Lanes

    def setup
      @commits = Assignment::Commits.new(5_000)
      @lane = lane(committed: 0)
      admit(@lane, batch(0..9, from: 0))
    end

    def send_all(now) = @commits.sent(@commits.due([@lane], now), now)

    test "only offsets that moved are committed" do
      assert_empty @commits.due([@lane], 0)
      @lane.complete_through(3)
      assert_equal [3], @commits.due([@lane], 0).map(&:offset)
    end

    test "an acknowledged offset isn't committed again" do
      @lane.complete_through(3)
      token = send_all(0)
      @commits.answered(token, {@lane.key => nil}, 10)
      assert_empty @commits.due([@lane], 10)
    end

    test "the interval starts with the first move and doesn't run while a commit is in flight" do
      @commits.start_interval(100)
      @commits.start_interval(900)
      assert_equal 5_100, @commits.next_due
      @lane.complete_through(1)
      send_all(5_100)
      @commits.start_interval(5_200)
      assert_nil @commits.next_due
    end

    test "offsets that the broker refuses temporarily are sent again soon, while this process owns the lane" do
      %i[stale_member_epoch rebalance_in_progress illegal_generation].each do |code|
        @lane.complete_through(@lane.committable_offset + 1)
        token = send_all(0)
        answer = @commits.answered(token, {@lane.key => code}, 50)
        assert_equal 1, answer[:again].size
        assert_equal 250, @commits.next_due
        assert @commits.unsettled?([@lane])
      end
    end

    test "two consecutive answers of another generation mean that the group has continued without this member" do
      @lane.complete_through(@lane.committable_offset + 1)
      answers = %i[illegal_generation rebalance_in_progress illegal_generation illegal_generation].map do |code|
        @commits.answered(send_all(0), {@lane.key => code}, 50)
        @commits.outdated?([@lane])
      end

      assert_equal [false, false, false, true], answers
      @commits.answered(send_all(0), {@lane.key => nil}, 50)
      refute @commits.outdated?([@lane])
    end

    test "answers from before a revocation don't count for the generation that revokes the lane" do
      @lane.complete_through(@lane.committable_offset + 1)
      2.times { @commits.answered(send_all(0), {@lane.key => :illegal_generation}, 50) }
      @commits.reset_outdated([@lane])
      refute @commits.outdated?([@lane])

      2.times { @commits.answered(send_all(0), {@lane.key => :illegal_generation}, 50) }
      assert @commits.outdated?([@lane])
    end

    test "a lane that is no longer owned isn't outdated any more" do
      @lane.complete_through(@lane.committable_offset + 1)
      2.times { @commits.answered(send_all(0), {@lane.key => :illegal_generation}, 50) }
      @commits.forget(@lane)

      refute @commits.outdated?([@lane])
    end

    test "[mark! on unknown member] a member that the group doesn't know drops the commit" do
      @lane.complete_through(1)
      answer = @commits.answered(send_all(0), {@lane.key => :unknown_member_id}, 50)
      assert_equal [[@lane.key, :unknown_member_id]], answer[:refused].map { |entry, code| [entry.lane.key, code] }
      assert_nil @commits.next_due
    end

    test "a lost lane's commit is never sent again" do
      @lane.complete_through(1)
      token = send_all(0)
      @lane.end_ownership!
      answer = @commits.answered(token, {@lane.key => :illegal_generation}, 50)
      assert_empty answer[:again]
      assert_empty @commits.due([@lane], 60_000)
    end

    test "metadata that a broker refuses as too long are left out once, then the refusal stands" do
      @lane.complete_through(1)
      answer = @commits.answered(send_all(0), {@lane.key => :offset_metadata_too_large}, 50)
      assert_equal 1, answer[:again].size
      assert @commits.bare?(@lane)
      answer = @commits.answered(send_all(300), {@lane.key => :offset_metadata_too_large}, 350)
      assert_equal 1, answer[:refused].size
    end

    test "metadata that didn't fit are in the next commit, as long as there is space for crash counts" do
      said = []
      equip(@lane, suspects: Object.new)
      @lane.suspects.define_singleton_method(:unwritten!) { said << :not }
      %i[written! acknowledged! refused! changed? to_h].each { |name| @lane.suspects.define_singleton_method(name) { nil } }
      budgets = Array.new(8) do |round|
        @lane.complete_through(round + 1)
        @commits.answered(send_all(round * 1_000), {@lane.key => :offset_metadata_too_large}, (round * 1_000) + 50)
        said.clear
        @commits.answered(send_all((round * 1_000) + 300), {@lane.key => nil}, (round * 1_000) + 350)
        [@lane.ledger.budget, @commits.bare?(@lane), said.size]
      end
      assert_equal [[2_048, false, 1], [64, false, 1], [32, true, 0], [32, true, 0]], budgets.values_at(0, 5, 6, 7)
    end

    test "a lane isn't settled until the metadata that were left out have followed: a stop's last commit contains what fits" do
      @lane.complete_through(1)
      @commits.answered(send_all(0), {@lane.key => :offset_metadata_too_large}, 50)
      @commits.answered(send_all(250), {@lane.key => nil}, 300)

      assert @commits.unsettled?([@lane])
      assert_equal 300, @commits.next_due
      assert_equal [1], @commits.due([@lane], 300).map(&:offset)
      @commits.answered(send_all(300), {@lane.key => nil}, 350)
      refute @commits.unsettled?([@lane])
      assert_empty @commits.due([@lane], 60_000)
    end

    test "a lane is settled without metadata if none fits" do
      @lane.ledger.budget = 64
      @lane.complete_through(1)
      @commits.answered(send_all(0), {@lane.key => :offset_metadata_too_large}, 50)
      @commits.answered(send_all(250), {@lane.key => nil}, 300)

      refute @commits.unsettled?([@lane])
    end

    # Counts how often it is looked at.
    class Watched < SimpleDelegator
      attr_reader :looks

      def owned?
        @looks = looks.to_i + 1
        super
      end
    end

    test "adopted lanes are looked at only while one of them may be due before the interval ends" do
      lanes = Array.new(100) { |partition| Watched.new(lane(partition: partition, committed: 0)) }
      confirm_start(*lanes)
      looks = -> { lanes.sum { |one| one.looks.to_i } }
      lanes.each { |one| @commits.adopted(one, 0) }
      20.times { assert_equal 5_000, @commits.next_due }
      assert_equal 0, looks.call
      lanes.each { |one| @commits.answered(@commits.sent([@commits.entry(one)], 5_000), {one.key => nil}, 5_001) }
      @commits.start_interval(6_000)
      20.times { assert_equal 11_000, @commits.next_due }
      assert_operator looks.call, :<=, 200
      @commits.nothing_due
      assert_equal 65_000, @commits.next_due
    end

    test "an adopted lane is committed without having moved, at its first interval and again a minute later" do
      @commits.adopted(@lane, 0)
      assert_empty @commits.due([@lane], 4_999)
      [5_000, 65_000].each do |at|
        assert_equal at, @commits.next_due
        @commits.answered(send_all(at), {@lane.key => nil}, at + 1)
      end
      assert_nil @commits.next_due
      assert_empty @commits.due([@lane], 500_000)
    end

    test "[assign offsets kept] of a group without members, unchanged offsets are committed again each day" do
      @commits = Assignment::Commits.new(5_000, keep_alive_ms: 86_400_000)
      @commits.adopted(@lane, 0)
      [5_000, 65_000, 86_465_000, 172_865_000].each do |at|
        assert_empty @commits.due([@lane], at - 1)
        assert_equal at, @commits.next_due
        @commits.answered(send_all(at), {@lane.key => nil}, at + 1)
      end
      @commits.forget(@lane)
      assert_nil @commits.next_due
    end

    test "the answer to an earlier commit is not taken for the one in flight" do
      @lane.complete_through(1)
      old = send_all(0)
      @commits.answered(old, {@lane.key => nil}, 1)
      @lane.complete_through(5)
      send_all(2)
      @commits.answered(old, {@lane.key => nil}, 3)
      assert @commits.in_flight?
      assert_equal 1, @lane.commit_state.offset
    end

    test "an answer that comes after a seek has no effect on the new incarnation" do
      @lane.complete_through(5)
      token = send_all(0)
      @lane.reincarnate(2)
      @commits.answered(token, {@lane.key => nil}, 1)
      assert_equal [2], @commits.due([@lane], 2).map(&:offset)
    end
  end
end
