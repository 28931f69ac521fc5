# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/consumer/claim"
require "penstock/runtime/loop/group/commit_codec"
require "penstock/runtime/loop/group/committer"
require "penstock/runtime/loop/mailbox"
require "penstock/runtime/loop/group/offset_slots"
require "penstock/runtime/loop/group/offset_lookup"

module Penstock
  # A lane that starts again from the group's offset, with every part that takes part in it.
  class LaneResetTest < TestCase
    include TestSupport::Lanes

    Group = Struct.new(:generation, :member_id)
    Source = Struct.new(:cursor)
    Quarantine = Struct.new(:max_crashes)

    # Session, its driver, its mailbox and its group in one: requests are recorded, the clock doesn't move.
    class Session
      attr_accessor :now, :member, :queued, :low, :high
      attr_reader :all, :sent, :events, :asked, :seeks, :called_back

      def initialize(lanes)
        @all = lanes
        @now = 0
        @member = Group.new(3, "me")
        @low = 0
        @high = 1_000
        @queued = []
        @sent, @events, @asked, @seeks, @called_back = Array.new(5) { [] }
      end

      def driver = self
      def group = self
      def id = "group"
      def direct? = false
      def group_metadata = @member
      def current?(lane) = @all.include?(lane)
      def emit(name, payload) = @events << [name, payload]
      def commit(token, rows) = @sent << [token, rows]
      def seek(_source, offset) = @seeks << offset
      def cached_watermarks(_topic, _partition) = [@low, @high]
      def fetch_committed(token, keys, **) = @asked << [token, keys]

      def call_back(lane)
        @called_back << lane.incarnation
        lane.put_back(@queued.shift(9))
      end
    end

    def setup
      @lane = lane(committed: 0, source: source = Source.new(10))
      assign(@lane, source: source, member_id: "me")
      admit(@lane, batch(0..9, from: 0))
      @session = Session.new([@lane])
      @codec = Runtime::CommitCodec.new
      @committer = Runtime::Committer.new(@session, codec: @codec, interval_ms: 5_000, expelled: -> { flunk })
      @offset_lookup = Runtime::OffsetLookup.new(@session, codec: @codec, committer: @committer)
      @settled = []
      @slots = Runtime::OffsetSlots.new(@session, @committer, @offset_lookup, codec: @codec, settle: @settled.method(:<<),
        resolve_transaction: ->(_claim) { true })
    end

    def claim(offset, unit: nil)
      Consumer::Claim.new(lane: @lane, incarnation: @lane.incarnation, unit: unit, marks: [[nil, offset]], metadata: nil,
        producer: nil, transaction: nil).tap { |claim| @slots.requested(claim) }
    end

    def told(claim, fate) = @slots.ended(Consumer::Claim::TransactionEnd.new(claim, fate))

    # The group reports its offset, as often as it is asked.
    def read(offset, metadata = nil, token: @session.asked.last.first)
      requests = @session.asked.size
      @offset_lookup.answered([:committed, token, 0, nil, [["orders", 0, offset, metadata, -1, 0]]])
      read(offset, metadata) if @session.asked.size > requests
    end

    # A transaction whose outcome isn't known.
    def lose(offset)
      claim(offset).tap { |lost| %i[unknown lost].each { |fate| told(lost, fate) } }
    end

    # The same as from user code outside of a unit.
    def seek(offset)
      @lane.reincarnate(offset)
      @session.seek(nil, offset)
      @committer.request_commit([@lane])
    end

    test "a seek during the reading takes precedence, and is committed after it" do
      lose(5)
      seek(3)
      assert_empty @session.sent
      read(8)
      assert_equal [3, [3], true, false], [@lane.committable_offset, @session.seeks, @lane.open?, @lane.offset_slot.taken?]
      assert_equal [3], @session.sent.flat_map { |_token, rows| rows.map { |row| row[2] } }
      refute_includes @session.events.map(&:first), "offsets.reopened"
    end

    test "during the reading no transaction carries the lane's offset and nothing is committed, even on request" do
      @session.member = Group.new(4, "another")
      @lane.complete_through(2)
      assert_equal :refused, claim(5).wait(0)
      assert_equal %w[me refused], [@lane.assignment.member_id, claim(6).wait(0).to_s]
      @committer.schedule_commit
      @session.now = 10_000
      @committer.run
      @committer.request_commit([@lane], clean: true)
      assert_empty @session.sent
      refute @committer.settled?([@lane])
      read(4)
      assert_equal ["another", 4, 1], [@lane.assignment.member_id, @lane.committable_offset, @session.sent.size]
      assert_equal [["orders", 0]] * 2, @session.asked.flat_map(&:last)
    end

    test "a commit of a mark that was dropped is answered false, a commit of a later mark true" do
      @lane.marks.mark(6)
      early, late = Array.new(2) { Runtime::CommitWait.new(@lane) }
      lose(2)
      @committer.wait(early)
      read(4)
      @committer.wait(late)
      @lane.ledger.admit(4, 6, nil)
      @lane.marks.mark(4)
      @committer.wait(again = Runtime::CommitWait.new(@lane))
      assert_equal [["orders", 0, 5]], @session.sent.flat_map(&:last).map { |row| row.first(3) }
      @committer.answered([:commit, @session.sent.last.first, 0, nil, [["orders", 0, 5, 0]]])
      assert_equal [false, false, true], [early, late, again].map { |wait| wait.wait(0) }
    end

    test "the offset is read once at a time, and later requests get the same answer" do
      heard = []
      @offset_lookup.reopen(@lane, 0) { heard << :first }
      @offset_lookup.reopen(@lane, 0) { heard << :second }
      assert_equal 1, @session.asked.size
      read(4)
      assert_equal [2, %i[first second]], [@session.asked.size, heard]
      assert_equal 1, @lane.incarnation
    end

    test "an answer for a lane that is open already is dropped" do
      @lane.holds.add(:opening)
      @offset_lookup.open([@lane])
      first = @session.asked.last.first
      @offset_lookup.open([@lane])
      read(0, token: first)
      admit(@lane, batch(0..5, from: 0))
      read(4)
      assert_equal [0, 6, 0], [@lane.committable_offset, @lane.ledger.tail, @lane.assignment.source.cursor]
    end

    test "queued units are called back: they would run in vain" do
      @session.queued = [@lane.next_unit]
      lose(5)
      assert_equal [0, []], [@lane.in_flight, @session.queued]
      read(4)
      assert_equal [0, 0], @session.called_back
      assert @lane.idle?
    end

    test "the metadata is used as for a newly assigned lane" do
      equip(@lane, suspects: Processing::Failure::CrashCounts.new(Quarantine.new(3)))
      @lane.commit_state.adopted_metadata = "of the first adoption"
      other = lane(committed: 0)
      admit(other, batch(0..9, from: 0))
      equip(other, suspects: Processing::Failure::CrashCounts.new(Quarantine.new(3)))
      other.suspects.adopt(unclean: 0, crashes: {6 => 2}, clean: true)
      other.commit_state.adopted_metadata = "the newer"
      2.times { other.attempts.fail(5) }
      other.complete(Messages.new(batch([7])).to_a)
      other.complete_through(4)
      lose(3)
      read(4, @codec.encode(other, 4, clean: false))
      assert_equal ["the newer", {5 => 2}, {6 => 2}], [@lane.adopted_metadata, @lane.attempts.to_h, @lane.suspects.counts(0)]
      assert_equal [{retry: 4_000}, [[7, 8]]], [@lane.holds.to_h, @lane.ledger.ranges]
    end

    test "unreadable metadata is reported, and none of the first adoption's is left" do
      @lane.commit_state.adopted_metadata = "of the first adoption"
      lose(3)
      2.times { read(5, @codec.encode(@lane, 4, clean: false)) }
      assert_equal %w[offsets.reopened offsets.metadata_ignored], @session.events.map(&:first)
      lose(5)
      read(6)
      assert_nil @lane.adopted_metadata
    end

    # A record that was alone at two deaths; that it runs is committed. The group assigns the partition again.
    def announced
      equip(@lane, suspects: Processing::Failure::CrashCounts.new(Quarantine.new(3)))
      @lane.suspects.adopt(unclean: 1, crashes: {0 => 2}, clean: false)
      @session.member = Group.new(4, "another")
      unit = @lane.next_unit
      @lane.suspects.announce(unit)
      [unit, @codec.encode(@lane, 0, clean: false)]
    end

    test "a record that ran, or was called back, when its lane started again gets no death counted for that" do
      [->(unit) { @lane.suspects.ended(unit) }, ->(unit) { @session.queued = [unit] }].each do |and_then|
        setup
        unit, committed = announced
        and_then.call(unit)
        claim(0)
        read(0, committed)
        assert_equal [{0 => 2}, :announce], [@lane.suspects.counts(0), @lane.suspects.step(0)]
        assert @lane.commit_state.uncommitted?
      end
    end

    test "while such a record runs the next commit still counts it" do
      unit, committed = announced
      claim(0)
      read(0, committed)
      assert_equal({0 => 3}, @lane.suspects.counts(0))
      @lane.suspects.ended(unit)
      assert_empty @lane.suspects.counts(0)
    end

    test "a reopening isn't a death: no record becomes suspect by it, and suspects stay suspect" do
      [[true, [0, false]], [false, [1, true]]].each do |clean, known|
        equip(@lane, suspects: Processing::Failure::CrashCounts.new(Quarantine.new(3)))
        @lane.suspects.adopt(unclean: 0, crashes: {}, clean: clean)
        4.times do
          lose(3)
          read(0, @codec.encode(@lane, 0, clean: false))
          assert_equal known, [@lane.suspects.unclean, @lane.suspects.suspect?(0)]
        end
      end
    end

    # Opens the lane at an offset; its source has begun elsewhere.
    def doubt(offset, place, **options)
      topic = route(**options)
      @lane = assign(topic_pipeline(topic).lane(topic.name, 0, 1, source = Source.new(0)), source: source, member_id: "me")
      @session.all.replace([@lane])
      @lane.holds.add(:opening)
      @offset_lookup.open([@lane])
      read(offset)
      ((place > offset) ? [place, offset] : [place]).each { |each| @lane.takes.start.judge(each, offset, nil) }
      @offset_lookup.confirm(@lane, place)
      assert_equal [false, true], [@lane.open?, @lane.commit_state.undecided?]
    end

    # The group reports its offset once.
    def answer(*rows) = @offset_lookup.answered([:committed, @session.asked.last.first, 0, nil, rows])

    def row(offset, metadata = nil) = ["orders", 0, offset, metadata, -1, 0]

    test "the source began elsewhere: the offset is read until an answer comes twice" do
      doubt(42, 30)
      answer(row(42))
      answer(row(30))
      assert_equal [false, []], [@lane.open?, @session.seeks]
      @session.now = @offset_lookup.next_due
      @offset_lookup.run
      answer(row(30))
      assert_equal [true, 30, [30]], [@lane.open?, @lane.committable_offset, @session.seeks]
      assert_equal [["offsets.reopened", 42, 30]],
        @session.events.map { |name, event| [name, *event.values_at(:old_offset, :offset)] }
      refute @lane.commit_state.undecided?
    end

    test "the source began elsewhere: an offset with a ledger is read once, because a checksum confirms it" do
      doubt(2, 1)
      answer(row(0, Native::Envelope.encode(base: 0, topic: "orders", completed: [[1, 3]])))
      assert_equal [true, 0, [[1, 3]]], [@lane.open?, @lane.committable_offset, @lane.ledger.ranges]
    end

    test "the source began elsewhere, and nothing is committed: the lane begins there, or where its route specifies" do
      @offset_lookup = Runtime::OffsetLookup.new(@session, codec: @codec, committer: @committer, source_begins: :latest)
      doubt(2**40, 7, initial_offset: "latest")
      2.times { answer(row(-1001)) }
      assert_equal [["orders", -1]], @session.asked.last.last
      answer
      assert_equal [true, nil, [7], nil], [@lane.open?, @lane.committable_offset, @session.seeks, @lane.takes.begin]
      admit(@lane, batch(7..8, from: 7))
      assert_equal [[7, 8], false], [offsets_of(@lane.next_unit), @lane.commit_state.undecided?]
      doubt(2**40, 7)
      2.times { answer(row(-1001)) }
      answer
      assert_equal [true, :earliest], [@lane.open?, @lane.takes.begin]
    end

    test "retention has deleted the offset: the lane begins with what is left, or where the source has begun if the route does" do
      {"earliest" => 150, "latest" => 203}.each do |initial, offset|
        @session.low = 150
        @session.seeks.clear
        doubt(100, 203, initial_offset: initial)
        read(100)
        assert_equal [true, 100, [offset]], [@lane.open?, @lane.committable_offset, @session.seeks]
        assert_equal 100, @lane.assignment.source.cursor
      end
    end

    test "nothing was committed in two answers, and then something is: the source is moved there" do
      doubt(100, 40, initial_offset: "latest")
      2.times { answer(row(-1001)) }
      answer(row(20))
      answer(row(20))
      assert_equal [true, 20, [20]], [@lane.open?, @lane.committable_offset, @session.seeks]
    end

    test "the log has become shorter than the committed offset: what was written since the source began isn't left out" do
      doubt(100, 51)
      @session.high = 55
      read(100)
      assert_equal [true, 51, [51]], [@lane.open?, @lane.committable_offset, @session.seeks]
      name, event = @session.events.last
      assert_equal ["consumer.offset_reset", 100, 51, 49], [name, *event.values_at(:old_offset, :new_offset, :count)]
    end
  end
end
