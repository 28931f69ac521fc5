# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/routing/features/parallel"
require "penstock/runtime/loop/group/committer"
require "penstock/runtime/loop/mailbox"

module Penstock
  class CommitterTest < TestCase
    include TestSupport::Lanes

    REBALANCE_IN_PROGRESS = 27

    # A session and its driver: commits are remembered, the clock stands.
    class Session
      attr_accessor :now
      attr_reader :all, :sent, :events

      def initialize(lanes)
        @all = lanes
        @now = 0
        @sent = []
        @events = []
      end

      def driver = self
      def commit(token, rows) = @sent << [token, rows]
      def current?(lane) = @all.include?(lane)
      def group = self
      def id = "group"
      def emit(name, payload) = @events << [name, payload]
    end

    # Writes to the metadata whether the commit is clean.
    class Codec
      def encode(_lane, _offset, clean:) = clean ? "clean" : ""
    end

    def setup
      @lanes = Array.new(2) { |partition| topic_pipeline.lane("orders", partition, 1).tap { |lane| lane.adopt(0) } }
      confirm_start(*@lanes)
      @session = Session.new(@lanes)
      @committer = Runtime::Committer.new(@session, codec: Codec.new, interval_ms: 5_000, expelled: -> { flunk })
    end

    def move(lane, offset)
      lane.ledger.admit(lane.ledger.tail, offset, nil)
      lane.complete_through(offset)
      @committer.schedule_commit
    end

    # The last commit is answered: the same for all of its partitions.
    def answer(number = 0)
      token, rows = @session.sent.last
      @committer.answered([:commit, token, 0, nil, rows.map { |topic, partition, offset, *| [topic, partition, offset, number] }])
    end

    # @return [Array<Array>] partition, offset and metadata of each commit
    def sent = @session.sent.map { |_token, rows| rows.map { |row| row.values_at(1, 2, 3) } }

    def pass(duration_ms)
      @session.now += duration_ms
      @committer.run
    end

    test "marks made during a call that takes long are committed at an interval, though nothing else moves" do
      move(@lanes[0], 1)
      pass(5_000)
      answer
      assert_nil @committer.next_due
      @lanes[0].ledger.admit(1, 9, nil)
      @lanes[0].marks.mark(3)
      2.times { pass(1_000) }
      assert_equal 11_000, @committer.next_due
      pass(4_000)
      answer
      assert_equal [[[0, 1, ""]], [[0, 4, ""]]], sent
      pass(1_000)
      assert_nil @committer.next_due
    end

    test "keys side by side: marks of units that have ended, or run for long, are committed at an interval" do
      parallel = Routing::Parallel.new(:message, 3, nil, :rolling, :current)
      lane = lane(route(manual: true, features: {parallel: parallel}), committed: 0)
      @session.all.replace([lane])
      admit(lane, batch(0..2, from: 0))
      ended, runs = lane.next_unit, lane.next_unit
      settle(lane, ended)
      [[ended, 1], [runs, 2]].each do |unit, offset|
        unit.marks.mark(offset - 1)
        pass(1_000)
        assert_equal @session.now + 5_000, @committer.next_due
        pass(5_000)
        answer
        assert_equal [0, offset, ""], sent.last.first
        pass(1_000)
        assert_nil @committer.next_due
      end
    end

    test "a commit requested for one partition leaves those that are due by interval due" do
      move(@lanes[0], 3)
      pass(1_000)
      @lanes[1].ledger.admit(0, 2, nil)
      @lanes[1].complete_through(2)
      @committer.request_commit([@lanes[1]])
      answer
      assert_equal 5_000, @committer.next_due
      pass(4_000)
      assert_equal [[[1, 2, ""]], [[0, 3, ""]]], sent
    end

    test "a commit that was refused for now isn't settled by another partition's commit meanwhile" do
      move(@lanes[0], 3)
      @committer.request_commit([@lanes[0]], clean: true)
      answer(REBALANCE_IN_PROGRESS)
      move(@lanes[1], 2)
      @committer.request_commit([@lanes[1]])
      answer
      refute @committer.settled?([@lanes[0]])
      pass(200)
      answer
      assert @committer.settled?([@lanes[0]])
      assert_equal [0, 3, "clean"], sent.last.first
    end

    test "the last commit of an owner that ends in order is sent again when refused, also where no offset moved" do
      @lanes[0].commit_state.committed(0)
      @committer.request_commit([@lanes[0]], clean: true)
      answer(REBALANCE_IN_PROGRESS)
      refute @committer.settled?([@lanes[0]])
      pass(200)
      answer
      pass(200)
      assert_equal [[[0, 0, "clean"]]] * 2, sent
    end

    test "a commit that isn't acknowledged when its partition is revoked is reported: its records run again" do
      move(@lanes[0], 3)
      @committer.request_commit([@lanes[0]], clean: true)
      @committer.abandon(@lanes)
      name, payload = @session.events.last
      assert_equal ["error.occurred", "offsets.commit.error", "orders", 0], [name, *payload.values_at(:type, :topic, :partition)]
      assert_equal [1, :timed_out], [@session.events.size, payload[:error].code]
      assert_includes payload[:error].message, "orders/0 at 3 wasn't acknowledged in time"
    end

    test "no marks are accepted after an owner's last commit: every mark that was answered true is in it" do
      move(@lanes[0], 1)
      @committer.request_commit([@lanes[0]])
      @lanes[0].ledger.admit(1, 9, nil)
      assert @lanes[0].marks.mark(3)
      @committer.request_commit([@lanes[0]], clean: true)
      refute @lanes[0].marks.mark(5)
      2.times { answer }
      assert_equal [[[0, 1, ""]], [[0, 4, "clean"]]], sent
    end

    test "a partition whose source hasn't begun has no commit, and is adopted when it has" do
      @session.all << (lane = lane(committed: 7))
      @committer.adopted(lane)
      @session.now = 5_000
      @committer.schedule_commit
      @session.now = 10_000
      @committer.run
      assert_equal [[], false], [@session.sent, @committer.awaited?]
      confirm_start(lane)
      @committer.adopted(lane)
      @session.now = 15_000
      @committer.run
      assert_equal [[[0, 7, ""]]], sent
    end

    test "a thread that waits for a partition whose source hasn't begun yet gets its answer at once: nothing was marked" do
      @session.all << (lane = lane(committed: 0))
      lane.leave!
      @committer.wait(wait = Runtime::CommitWait.new(lane))
      assert_equal [true, []], [wait.wait(0), @session.sent]
    end

    test "a waiting thread gets the answer of the commit that contains its marks, not of an earlier one" do
      move(@lanes[0], 3)
      @committer.request_commit([@lanes[0]])
      wait = Runtime::CommitWait.new(@lanes[0])
      heard = []
      wait.define_singleton_method(:resolve) { |answer| super(heard.push(answer).last) }
      @lanes[0].ledger.admit(3, 5, nil)
      @lanes[0].marks.mark(4)
      @committer.wait(wait)
      answer
      assert_empty heard
      answer
      assert wait.wait(0)
      assert_equal [[[0, 3, ""]], [[0, 5, ""]]], sent
    end
  end
end
