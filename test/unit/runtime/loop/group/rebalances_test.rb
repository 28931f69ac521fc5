# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/runtime/loop/group/commit_codec"
require "penstock/runtime/loop/group/committer"
require "penstock/runtime/loop/group/rebalances"

module Penstock
  class RebalancesTest < TestCase
    include TestSupport::Lanes

    Settings = Struct.new(:revocation_drain)
    Source = Struct.new(:id, :closed) do
      def close = self.closed = true
    end

    # Session, its driver, its pool and the hooks in one: the clock doesn't move, hooks end at once.
    class Session
      attr_accessor :now
      attr_reader :all, :sent, :answered, :settings, :events

      def initialize(lanes)
        @all = lanes
        @now = 0
        @sent = []
        @answered = 0
        @events = []
        @settings = Settings.new(30_000)
      end

      def driver = self
      def pool = self
      def group = self
      def id = "group"
      def epoch = 1
      def running = []
      def lane(key) = @all.find { |lane| lane.key == key }
      def current?(lane) = @all.include?(lane)
      def remove(lane) = @all.delete(lane)
      def call_back(_lane) = nil
      def touch(_sources) = nil
      def commit(token, rows) = @sent << [token, rows]
      def emit(name, payload) = @events << [name, payload[:type], payload[:error]&.code]
      def subscribed?(_name) = false
      def run(_hook, _lanes) = nil
      def run_when_idle(_hook, _lane) = nil

      def answer
        @answered += 1
        nil
      end
    end

    def setup
      @lane = lane(committed: 0, source: Source.new(1))
      admit(@lane, batch(0..9, from: 0))
      @session = Session.new([@lane])
      @committer = Runtime::Committer.new(@session, codec: Runtime::CommitCodec.new, interval_ms: 5_000, expelled: -> { flunk })
      @rebalances = Runtime::Rebalances.new(@session, committer: @committer, offset_lookup: nil, lanes: nil, hooks: @session)
    end

    test "a revocation waits for the last commit of the revoked partitions" do
      @lane.complete_through(3)
      @rebalances.handle([:revoke, [@lane.key], false])
      assert_equal [[["orders", 0, 3]], 0], [@session.sent.last.last.map { |row| row.first(3) }, @session.answered]
      @committer.answered([:commit, @session.sent.last.first, 0, nil, [["orders", 0, 3, 0]]])
      @rebalances.run
      assert_equal [1, true, []], [@session.answered, @lane.assignment.source.closed, @session.all]
    end

    test "a revocation whose last commit isn't acknowledged is answered when its time has passed, and an error is emitted" do
      @lane.complete_through(3)
      @rebalances.handle([:revoke, [@lane.key], false])
      @session.now = 30_000
      @rebalances.run
      assert_equal [1, [["error.occurred", "offsets.commit.error", :timed_out]]], [@session.answered, @session.events]
    end

    def another_lane
      source = Source.new(2)
      assign(topic_pipeline.lane("orders", 1, 1, source), source: source).tap do |lane|
        lane.adopt(0)
        confirm_start(lane)
        @session.all << lane
      end
    end

    test "where a unit outlasts the drain, completed offsets are committed before its end: of its partition, and of the others" do
      other = another_lane
      @lane.next_unit
      @lane.marks.mark(1)
      other.ledger.admit(0, 5, nil)
      other.complete_through(4)
      @rebalances.handle([:revoke, [@lane.key, other.key], false])
      assert_empty @session.sent
      @session.now = @rebalances.next_due
      @rebalances.run
      assert_equal [["orders", 0, 2], ["orders", 1, 4]], @session.sent.last.last.map { |row| row.first(3) }
      assert_equal 0, @session.answered
      assert_operator @session.now, :<, 30_000
      @session.now = @rebalances.next_due
      @rebalances.run
      assert_equal [30_000, 1, 1], [@session.now, @session.sent.size, @session.answered]
    end

    test "a revocation doesn't wait for a partition that is being read again: nothing of it can be committed" do
      @lane.complete_through(3)
      @lane.commit_state.doubtful = true
      @rebalances.handle([:revoke, [@lane.key], false])
      assert_equal [1, [], []], [@session.answered, @session.sent, @session.all]
      refute @rebalances.pending?
    end

    test "lost partitions are remembered until the group assigns some, or none" do
      @rebalances.handle([:revoke, [@lane.key], true])
      assert_predicate @rebalances, :lost?
      opening = Object.new
      def opening.open(_lanes) = nil
      rebalances = Runtime::Rebalances.new(@session, committer: @committer, offset_lookup: opening, lanes: nil, hooks: @session)
      rebalances.handle([:revoke, [], true])
      assert_predicate rebalances, :lost?
      %i[next_epoch answer].each { |step| @session.define_singleton_method(step) { nil } }
      @session.define_singleton_method(:lanes) { {} }
      rebalances.handle([:assign, []])
      refute_predicate rebalances, :lost?
    end

    # A thread that asks during an assignment would count no partitions.
    test "while an assignment is taken over, the group isn't idle" do
      opening = Object.new
      def opening.open(_lanes) = nil
      rebalances = Runtime::Rebalances.new(@session, committer: @committer, offset_lookup: opening, lanes: nil, hooks: @session)
      assert_predicate rebalances, :stable?
      asked = []
      %i[next_epoch answer].each { |step| @session.define_singleton_method(step) { (asked << rebalances.stable?) && nil } }
      @session.define_singleton_method(:lanes) { {} }
      rebalances.handle([:assign, []])

      assert_equal [[false, false], true], [asked, rebalances.stable?]
    end

    test "the event of an assignment that adds nothing has the partitions that stay" do
      said = nil
      group = Struct.new(:id, :consumer_group).new("app_0", Struct.new(:id).new("app"))
      {lanes: {}, next_epoch: 2, subscribed?: true, group: group, name: "client"}
        .each { |name, value| @session.define_singleton_method(name) { |*| value } }
      @session.define_singleton_method(:emit) { |name, payload| said = payload if name == "rebalance.partitions_assigned" }
      opening = Object.new
      def opening.open(_lanes) = nil
      Runtime::Rebalances.new(@session, committer: @committer, offset_lookup: opening, lanes: nil, hooks: @session)
        .handle([:assign, []])

      assert_equal [[], [["orders", 0]]], said.values_at(:tpl, :kept)
    end

    test "a revocation waits for a commit of such a partition that was under way before" do
      @lane.complete_through(3)
      @committer.request_commit([@lane])
      @lane.commit_state.doubtful = true
      @rebalances.handle([:revoke, [@lane.key], false])
      assert_equal [1, 0], [@session.sent.size, @session.answered]
      @committer.answered([:commit, @session.sent.last.first, 0, nil, [["orders", 0, 3, 0]]])
      @rebalances.run
      assert_equal [1, 1], [@session.sent.size, @session.answered]
    end
  end
end
