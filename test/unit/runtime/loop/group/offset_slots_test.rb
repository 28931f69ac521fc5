# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/consumer/claim"
require "penstock/runtime/loop/group/commit_codec"
require "penstock/runtime/loop/group/committer"
require "penstock/runtime/loop/group/offset_slots"

module Penstock
  class OffsetSlotsTest < TestCase
    include TestSupport::Lanes

    Group = Struct.new(:generation, :member_id)
    Word = Consumer::Claim::TransactionEnd

    # Session, its driver and its group in one: requests are recorded, the clock doesn't move.
    class Session
      attr_accessor :now, :member, :direct
      attr_reader :all, :sent, :events, :posted

      def initialize(lanes)
        @all = lanes
        @now = 0
        @sent = []
        @events = []
        @posted = []
        @member = Group.new(3, "me")
      end

      def driver = self
      def group = self
      def mailbox = self
      def id = "group"
      def direct? = @direct
      def group_metadata = @member
      def commit(token, rows) = @sent << [token, rows]
      def post(message) = @posted << message
      def current?(lane) = @all.include?(lane)
      def emit(name, payload) = @events << [name, payload]
    end

    # Records which lanes are to be read again.
    class Opening
      attr_reader :asked

      def initialize = @asked = []
      def reopen(lane, base, &opened) = @asked << [lane, base, opened]
    end

    def setup
      @lane = assign(lane(committed: 0), member_id: "me")
      admit(@lane, batch(0..9, from: 0))
      @session = Session.new([@lane])
      @codec = Runtime::CommitCodec.new
      @committer = Runtime::Committer.new(@session, codec: @codec, interval_ms: 5_000, expelled: -> { flunk })
      @offset_lookup = Opening.new
      @settled = []
      @resolving = []
      @slots = Runtime::OffsetSlots.new(@session, @committer, @offset_lookup, codec: @codec, settle: @settled.method(:<<),
        resolve_transaction: @resolving.method(:<<))
    end

    def claim(offset, unit: nil, incarnation: @lane.incarnation, metadata: nil)
      Consumer::Claim.new(lane: @lane, incarnation: incarnation, unit: unit, marks: [[nil, offset]], metadata: metadata,
        producer: nil, transaction: nil).tap { |claim| @slots.requested(claim) }
    end

    def answer(claim) = claim.wait(0)
    def told(claim, fate) = @slots.ended(Word.new(claim, fate))

    test "one transaction has the slot; the next one gets it with the offsets that the first has committed" do
      first, second = claim(3, metadata: "mine"), claim(5)
      assert_equal ["orders", 0, 4], answer(first).row.first(3)
      assert_equal "mine", Native::Envelope.decode(answer(first).row[3], base: 4, topic: "orders").user_metadata
      assert_same @session.member, answer(first).group
      assert_equal [0, nil], [@lane.committable_offset, answer(second)]
      told(first, :committed)
      assert_equal [4, false], [@lane.committable_offset, @lane.commit_state.uncommitted?]
      assert_equal 6, answer(second).row[2]
      told(second, :aborted)
      assert_equal [4, false], [@lane.committable_offset, @lane.offset_slot.taken?]
    end

    test "nothing is committed during a transaction, and commits wanted meanwhile are sent after it" do
      granted = claim(3)
      @committer.request_commit([@lane], clean: true)
      @session.now = 10_000
      @committer.schedule_commit
      @committer.run
      assert_empty @session.sent
      refute @committer.settled?([@lane])
      told(granted, :committed)
      assert_equal [["orders", 0, 4]], @session.sent.last.last.map { |row| row.first(3) }
    end

    test "while a commit of the lane is under way no claim is granted" do
      @lane.complete_through(1)
      @committer.request_commit([@lane])
      waiting = claim(3)
      assert_nil answer(waiting)
      @committer.answered([:commit, @session.sent.last.first, 0, nil, [["orders", 0, 1, 0]]])
      @slots.run
      assert_equal 4, answer(waiting).row[2]
    end

    test "no claim is granted during an owner's last commit, nor after it" do
      waiting = claim(3)
      told(waiting, :aborted)
      @committer.request_commit([@lane], clean: true)
      assert_equal :refused, answer(claim(3))
      @committer.answered([:commit, @session.sent.last.first, 0, nil, [["orders", 0, 0, 0]]])
      assert_equal :refused, answer(claim(3))
    end

    test "claims on lanes that aren't ours any more are refused, also while the slot is taken" do
      claim(3)
      waiting = claim(5)
      @lane.end_ownership!
      @slots.run
      late = claim(6)
      assert_equal %i[refused refused], [answer(waiting), answer(late)]
      assert_equal :refused, answer(claim(5, incarnation: 7))
    end

    test "after a seek to the end, before anything was read, no transaction has anything to commit" do
      @lane.reincarnate(nil)
      assert_equal :refused, answer(claim(3))
    end

    test "a claim isn't granted to a member with another id than the lane was assigned with, least of all to one without an id" do
      [Group.new(-1, ""), Group.new(3, ""), nil, Group.new(4, "another")].each do |member|
        assert_empty @offset_lookup.asked
        @session.member = member
        assert_equal :refused, answer(claim(3)), member.inspect
      end
      assert_equal [[@lane, 0]], @offset_lookup.asked.map { |asked| asked.first(2) }
      assert_equal "me", @lane.assignment.member_id # its state is still that of the old membership
      @offset_lookup.asked.first.last.call
      assert_equal 4, answer(late = claim(3)).row[2]
      told(late, :aborted)
      @session.direct = true
      @session.member = Group.new(-1, "")
      assert_equal 4, answer(claim(3)).row[2]
    end

    test "an outcome waits for the end of its unit's transaction, and the partition with it" do
      unit = @lane.next_unit
      lost = claim(3, unit: unit)
      refute @slots.defer(Processing::Outcome.new(unit: @lane.action_unit(:tick, nil)))
      told(lost, :unknown)
      outcome = Processing::Outcome.new(unit: unit, error: WaitTimeoutError.new("no answer"))
      assert @slots.defer(outcome)
      assert_equal [[lost], [], false], [@resolving, @settled, @lane.open?]
      told(lost, :committed)
      assert_equal [[outcome], 4, true], [@settled, @lane.committable_offset, @lane.open?]
    end

    test "an outcome that comes without the end of its transaction means that the end isn't known" do
      unit = @lane.next_unit
      lost = claim(3, unit: unit)
      assert @slots.defer(Processing::Outcome.new(unit: unit))
      assert_equal [lost], @resolving
      told(lost, :aborted)
      assert_equal [0, 1], [@lane.committable_offset, @settled.size]
    end

    test "where the producer can't be asked the group is; until its answer, and only once, the outcome waits" do
      unit = @lane.next_unit
      lost = claim(3, unit: unit)
      told(lost, :lost)
      assert_equal [[lost], []], [@resolving, @offset_lookup.asked]
      @slots.defer(outcome = Processing::Outcome.new(unit: unit))
      2.times { told(lost, :lost) }
      assert_equal [[@lane, 0]], @offset_lookup.asked.map { |asked| asked.first(2) }
      assert_empty @settled
      @lane.reopen(4) { [] }
      @offset_lookup.asked.first.last.call
      assert_equal [[outcome], false, 4], [@settled, @lane.offset_slot.taken?, @lane.committable_offset]
    end

    test "a reading without an answer ends with the lane, or with the connection" do
      unit = @lane.next_unit
      lost = claim(3, unit: unit)
      @slots.defer(outcome = Processing::Outcome.new(unit: unit))
      told(lost, :lost)
      @slots.close
      assert_equal [Word.new(lost, :aborted)], @session.posted
      @session.all.clear
      @slots.run
      assert_equal [outcome], @settled
    end

    test "a commit that becomes known after the stop's end still counts, one of an earlier incarnation doesn't" do
      granted = claim(3)
      @lane.cut_off!
      told(granted, :committed)
      assert_equal 4, @lane.committable_offset
    end

    test "the marks of a transaction that a seek overtook aren't applied" do
      granted = claim(3)
      @lane.reincarnate(7)
      told(granted, :committed)
      assert_equal 7, @lane.committable_offset
    end

    test "a claim that its worker withdrew is forgotten" do
      first, second, third = claim(3), claim(5), claim(7)
      told(second, :aborted)
      told(first, :aborted)
      assert_nil answer(second)
      assert_equal 8, answer(third).row[2]
    end

    test "a claim that doesn't fit the metadata waits until others have moved the base; a broker that accepts less gets less" do
      @lane.ledger.budget = 30
      (2..9).step(2) { |offset| @lane.complete([admitted(offset)]) }
      exact = exact(7, metadata: "m" * 100)
      assert_nil answer(exact)
      whole = claim(9)
      assert_equal 10, answer(whole).row[2]
      whole.too_large = 40
      told(whole, :committed)
      assert_equal 15, @lane.ledger.budget
    end

    test "a claim that doesn't fit is checked again when the ledger has changed, not on every turn" do
      @lane.ledger.budget = 30
      looks = 0
      @session.define_singleton_method(:group_metadata) { (looks += 1) && @member }
      [2, 4, 6].each { |offset| @lane.complete([admitted(offset)]) }
      waiting = exact(5, metadata: "m" * 100)
      5.times { @slots.run }
      assert_equal [nil, 1], [answer(waiting), looks]
      @lane.ledger.budget = 400
      @lane.complete([admitted(8)])
      2.times { @slots.run }
      assert_equal [0, 2], [answer(waiting).row[2], looks]
    end

    test "a broker that accepts less metadata gets the offset alone, then half as much" do
      refused = claim(3)
      refused.too_large = answer(refused).row[3].bytesize
      told(refused, :aborted)
      assert_equal [["offsets.metadata_reduced", refused.too_large]], @session.events.map { |name, told| [name, told[:bytes]] }
      alone = claim(3)
      assert_equal [4, nil], answer(alone).row.values_at(2, 3)
      told(alone, :committed)
      assert_equal [4, true, 2_048], [@lane.committable_offset, @lane.commit_state.uncommitted?, @lane.ledger.budget]
      refute_nil answer(claim(5)).row[3]
    end

    def decoded(claim) = Native::Envelope.decode(answer(claim).row[3], base: answer(claim).row[2], topic: "orders")

    test "a record that all others wait for is committed without the user's metadata if they don't fit, which is reported once" do
      @lane.ledger.budget = 1_024
      @lane.marks.store_metadata("m" * 1_000)
      @lane.complete([admitted(3)])
      [0, 1].each do |offset|
        base = claim(offset)
        assert_equal [offset + 1, nil, [[3, 4]]], [answer(base).row[2], *decoded(base).to_h.values_at(:user_metadata, :completed)]
        told(base, :committed)
      end
      reduced = @session.events.filter_map { |name, told| told[:bytes] if name == "offsets.metadata_reduced" }
      assert_equal [1, true, 1_000], [reduced.size, reduced.first > 1_024, @lane.marks.metadata.size]
    end

    test "where the broker accepts less, other claims go without the user's metadata too; otherwise they wait for the base" do
      @lane.complete([admitted(3), admitted(5)])
      @lane.ledger.budget = 1_024
      first = exact(7, metadata: "m" * 1_000)
      assert_equal [0, [[3, 4], [5, 6], [7, 8]]], [answer(first).row[2], decoded(first).completed]
      told(first, :committed)
      @lane.ledger.budget = 30
      assert_nil answer(waiting = exact(9, metadata: "m" * 1_000))
      base = claim(0)
      assert_equal [1, nil], [answer(base).row[2], answer(waiting)]
    end

    test "a record that all others wait for is committed even if the offsets beyond it don't fit: the broker may require it" do
      @lane.ledger.budget = 10
      @lane.complete([admitted(3), admitted(5)])
      base = claim(0)
      assert_equal [1, []], [answer(base).row[2], decoded(base).completed]
      base.too_large = answer(base).row[3].bytesize
      told(base, :aborted)
      assert_equal [1, nil], answer(claim(0)).row.values_at(2, 3)
    end

    test "claims that fit are granted first, even if others wait for the base" do
      @lane.ledger.budget = 400
      @lane.complete([admitted(3)])
      busy = exact(4)
      base, other = claim(0, metadata: "m" * 400), exact(6)
      told(busy, :aborted)
      assert_equal [nil, 0], [answer(base), answer(other).row[2]]
      told(other, :aborted)
      assert_equal 1, answer(base).row[2]
    end

    test "completed offsets beyond the committed one aren't omitted as long as they may fit later" do
      @lane.complete([admitted(5)])
      refused = claim(3)
      refused.too_large = 4_096
      told(refused, :aborted)
      assert_equal [[5, 6]], Native::Envelope.decode(answer(again = claim(3)).row[3], base: 4, topic: "orders").completed
      told(again, :aborted)
      @lane.ledger.budget = 10
      assert_equal [4, nil], answer(claim(3)).row.values_at(2, 3)
    end

    test "a broker's refusal of too much metadata isn't remembered for a partition that is gone" do
      refused = claim(3)
      refused.too_large = 4_096
      @session.all.clear
      told(refused, :aborted)
      assert_equal [false, []], [@committer.bare?(@lane), @session.events]
    end

    test "claims that wait when the connection ends are refused at once: waiting workers hold a producer" do
      claim(3)
      waiting = claim(5)
      @slots.close
      assert_equal :refused, answer(waiting)
    end

    test "where no thread could ask for a transaction's end, another attempt is made" do
      found = false
      @slots = Runtime::OffsetSlots.new(@session, @committer, @offset_lookup, codec: @codec, settle: @settled.method(:<<),
        resolve_transaction: ->(claim) { (@resolving << claim) && found })
      lost = claim(3)
      told(lost, :unknown)
      assert_equal [[lost], 1_000], [@resolving, @slots.next_due]
      @slots.close # the next connection's slots read it
      assert_equal [Word.new(lost, :unknown)], @session.posted
      found = true
      @session.now = 1_000
      2.times { @slots.run }
      assert_equal [[lost] * 2, nil], [@resolving, @slots.next_due]
      told(lost, :unknown)
      assert_equal 2, @resolving.size
    end

    # Of the record alone, not of those before it.
    def exact(offset, metadata: nil)
      Consumer::Claim.new(lane: @lane, incarnation: 0, unit: nil, metadata: metadata, producer: nil, transaction: nil,
        marks: [[Consumer::Claim::Exact.new(admitted(offset)), offset]]).tap { |claim| @slots.requested(claim) }
    end

    def admitted(offset) = Messages.new(batch([offset])).first
  end
end
