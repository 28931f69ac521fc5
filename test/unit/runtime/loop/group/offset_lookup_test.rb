# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/runtime/loop/group/commit_codec"
require "penstock/runtime/loop/group/offset_lookup"

module Penstock
  class OffsetLookupTest < TestCase
    include TestSupport::Lanes

    Source = Struct.new(:id, :cursor)
    # A driver that only receives requests for committed offsets.
    class Driver
      attr_reader :asked, :seeks

      def initialize
        @asked = []
        @seeks = []
      end

      def seek(lane, offset) = @seeks << [lane, offset]
      def fetch_committed(token, keys, **) = @asked << [token, keys]
    end

    # The session as Opening uses it, with a clock that doesn't move.
    class Session
      attr_accessor :now
      attr_reader :driver, :events, :lanes

      def initialize(driver)
        @driver = driver
        @now = 1_000
        @events = []
        @lanes = []
      end

      def current?(lane) = lanes.include?(lane)
      def call_back(_lane) = nil
      def emit(name, payload) = @events << [name, payload]
    end

    # Records the adopted lanes.
    class Committer
      attr_reader :lanes

      def initialize = @lanes = []
      def adopted(lane) = @lanes << lane
    end

    def setup
      @driver = Driver.new
      @session = Session.new(@driver)
      @codec = Runtime::CommitCodec.new
      @offset_lookup = Runtime::OffsetLookup.new(@session, codec: @codec, committer: @committer = Committer.new,
        source_begins: :latest)
    end

    def new_lane(**options)
      topic = route(**options)
      lane = assign(topic_pipeline(topic).lane(topic.name, 0, 1, source = Source.new(0, nil)), source: source)
      lane.holds.add(:opening)
      @session.lanes << lane
      lane
    end

    def answer(offset, metadata = nil, number: 0, token: @driver.asked.last.first)
      @offset_lookup.answered([:committed, token, 0, nil, [["orders", 0, offset, metadata, -1, number]]])
    end

    # The answer for all partitions of the topic.
    def answer_all(*rows) = @offset_lookup.answered([:committed, @driver.asked.last.first, 0, nil, rows])

    def asks_all? = @driver.asked.last.last == [["orders", -1]]

    test "a lane opens at its committed offset" do
      lane = new_lane
      @offset_lookup.open([lane])
      assert_equal [["orders", 0]], @driver.asked.first.last
      refute lane.open?
      answer(42)
      assert_equal [true, 42, 42], [lane.open?, lane.committable_offset, lane.assignment.source.cursor]
      assert_equal [lane], @committer.lanes
    end

    test "[attempt reset on revoke] attempts survive a hand-over, and the record waits its back-off again from adoption" do
      old = lane(committed: 0)
      admit(old, batch(0..9, from: 0))
      2.times do
        settle(old, old.next_unit, error: RuntimeError.new("no"), blamed: 3)
        old.holds.expire(1_000_000)
        4.times { |offset| settle(old, old.next_unit) if offset < 3 && old.committable_offset < 3 }
      end
      metadata = @codec.encode(old, old.committable_offset, clean: true)
      adopted = new_lane
      @offset_lookup.open([adopted])
      answer(old.committable_offset, metadata)
      assert_equal({3 => 2}, adopted.attempts.to_h)
      assert_equal({retry: 5_000}, adopted.holds.to_h)
    end

    test "metadata of another program, of any length, can be read and doesn't prevent commits" do
      [1_024, 3_000].each do |size|
        adopted = new_lane
        @offset_lookup.open([adopted])
        2.times { answer(42, "x" * size) }
        assert_equal size, adopted.adopted_metadata.bytesize
        written = @codec.decode(adopted, 42, @codec.encode(adopted, 42, clean: false))
        assert_equal [nil, (size == 1_024) ? "x" * size : nil], [written.ignored, written.user_metadata]
      end
    end

    # @return [(String, String)] metadata by which the records 1 and 2 are complete beyond the offset 0, and the same, damaged
    def metadata_with_ledger
      metadata = Native::Envelope.encode(base: 0, topic: "orders", completed: [[1, 3]])
      [metadata, metadata.sub(/.\z/) { |last| last.succ[-1] }]
    end

    test "metadata that were damaged on the way are requested again, at once: the ledger isn't lost" do
      metadata, damaged = metadata_with_ledger
      lane = new_lane
      @offset_lookup.open([lane])
      answer(0, damaged)
      refute lane.open?
      assert_equal 2, @driver.asked.size
      answer(0, metadata)
      assert_equal [true, [[1, 3]]], [lane.open?, lane.ledger.ranges]
      assert_empty @session.events
    end

    test "metadata that are damaged in the group are ignored: their second answer is the same" do
      _metadata, damaged = metadata_with_ledger
      lane = new_lane
      @offset_lookup.open([lane])
      2.times { answer(0, damaged) }
      assert_equal [true, 2], [lane.open?, @driver.asked.size]
      assert_equal [["offsets.metadata_ignored", :damaged]], @session.events.map { |name, event| [name, event[:reason]] }
    end

    test "another program's metadata are requested twice, though it commits again and again" do
      lane = new_lane
      @offset_lookup.open([lane])
      answer(7, "theirs")
      answer(8, "theirs, later")
      assert_equal [true, 8, 2], [lane.open?, lane.committable_offset, @driver.asked.size]
    end

    test "an offset below none with metadata, answered twice, is none, and reported" do
      metadata, = metadata_with_ledger
      lane = new_lane
      @offset_lookup.open([lane])
      2.times { answer(-9, metadata) }
      answer_all
      assert_equal [true, nil], [lane.open?, lane.committable_offset]
      assert_equal [["offsets.metadata_ignored", -9]], @session.events.map { |name, event| [name, event[:offset]] }
    end

    test "a topic of which no offset can be read isn't taken for a new one" do
      lane = new_lane(initial_offset: "latest")
      @offset_lookup.open([lane])
      answer(-1001)
      [["orders", 5, -1001, nil, -1, 88], ["orders", 5, -9, metadata_with_ledger.first, -1, 0]].each do |row|
        @offset_lookup.answered([:committed, @driver.asked.last.first, 0, nil, [row]])
        refute lane.open?
        @session.now = @offset_lookup.next_due
        @offset_lookup.run
        assert_equal [["orders", -1]], @driver.asked.last.last
      end
      @offset_lookup.answered([:committed, @driver.asked.last.first, 0, nil, [["orders", 5, 100, nil, -1, 0]]])
      assert_equal [true, :earliest], [lane.open?, lane.takes.begin]
    end

    test "an offset that was damaged on the way is requested again, also one that looks like none" do
      metadata, = metadata_with_ledger
      [7, -9].each do |offset|
        lane = new_lane
        @offset_lookup.open([lane])
        answer(offset, metadata)
        refute lane.open?
        answer(0, metadata)
        assert_equal [true, 0], [lane.open?, lane.committable_offset]
      end
    end

    test "while each answer is damaged in another way the partition waits, and this is reported" do
      metadata, damaged = metadata_with_ledger
      lane = new_lane
      @offset_lookup.open([lane])
      answer(0, damaged)
      answer(0, metadata[0...-3])
      assert_equal [false, 1_250, 2], [lane.open?, @offset_lookup.next_due, @driver.asked.size]
      @session.now = 20_000
      @offset_lookup.run
      answer(0, metadata[0...-7])
      assert_equal ["offsets.unavailable"], @session.events.map(&:first)
      assert_match(/\Aeach answer is another one: it is damaged on the way/,
        @session.events.last.last[:reason])
      @session.now = 20_250
      @offset_lookup.run
      answer(0, metadata)
      assert lane.open?
    end

    test "a committed offset that a transaction blocks is requested until the transaction has ended" do
      lane = new_lane
      @offset_lookup.open([lane])
      200.times do
        answer(-1001, number: 88)
        @session.now = @offset_lookup.next_due
        @offset_lookup.run
      end
      refute lane.open?
      answer(42)
      assert_equal [true, 42], [lane.open?, lane.committable_offset]
      assert_equal [["offsets.unavailable", "an open transaction holds the offset"]],
        @session.events.map { |name, event| [name, event[:reason]] }.uniq
    end

    test "a transaction that blocks an offset is reported: the process's last run may have left it open" do
      told = 0
      @offset_lookup = Runtime::OffsetLookup.new(@session, codec: @codec, committer: @committer, unstable: -> { told += 1 })
      @offset_lookup.open([new_lane])
      answer(-1001, number: 14)
      assert_equal 0, told
      @session.now = @offset_lookup.next_due
      @offset_lookup.run
      answer(-1001, number: 88)
      assert_equal 1, told
    end

    test "a lane whose ledger can't be trusted begins at the group's offset, also where the group has none" do
      lane = lane(committed: 40)
      @session.lanes << lane
      admit(lane, batch(40..49, from: 40))
      opened = 0
      @offset_lookup.reopen(lane, 40) { opened += 1 }
      refute lane.open?
      answer(-1001, number: 14)
      @session.now = 40_000
      @offset_lookup.run
      answer(45)
      assert_equal [0, false], [opened, lane.open?] # without metadata it may be damaged
      answer(45)
      assert_equal [1, 45, 1, true], [opened, lane.committable_offset, lane.incarnation, lane.open?]
      @offset_lookup.reopen(lane, 44) { opened += 1 }
      2.times { answer(-1001) }
      assert_equal [2, 44, [45, 44]], [opened, lane.committable_offset, @driver.seeks.map(&:last)]
      assert_equal([[40, 45], [45, 44]], @session.events.map { |_name, told| told.values_at(:old_offset, :offset) })
    end

    test "of two answers that contradict each other, none counts: the offset is requested again" do
      lane = new_lane(initial_offset: "latest")
      @offset_lookup.open([lane])
      answer(-1001)
      answer_all(["orders", 0, 20, nil, -1, 0], ["orders", 1, 5, nil, -1, 0])
      assert_equal [false, [["orders", 0]]], [lane.open?, @driver.asked.last.last]
      answer(20)
      assert_equal [true, 20], [lane.open?, lane.committable_offset]
    end

    test "a request without an answer is repeated, and the partition isn't opened until there is one" do
      lane = new_lane
      @offset_lookup.open([lane])
      answer(-1001, number: 14)
      assert_equal 1_250, @offset_lookup.next_due
      @session.now = 1_250
      @offset_lookup.run
      assert_equal 2, @driver.asked.size
      @session.now = 500_000
      answer(-1001, number: 14)
      refute lane.open?
      @session.now = @offset_lookup.next_due
      @offset_lookup.run
      answer(42)
      assert lane.open?
    end

    test "the wait for a committed offset is reported after 10 s and then every 30 s, with its reason" do
      @offset_lookup.open([new_lane])
      [9_000, 11_000, 12_000, 40_000, 42_000].each do |now|
        @session.now = now
        @offset_lookup.run
        answer(-1001, number: 14)
      end
      reports = @session.events.filter_map { |name, event| event if name == "offsets.unavailable" }
      assert_equal [10_000, 41_000], reports.map { |event| event[:waited_ms] }
      assert_match(/load/i, reports.first[:reason])
    end

    test "a request for which no thread can be started is repeated" do
      @driver.define_singleton_method(:fetch_committed) { |*, **| raise Errno::EAGAIN, "a thread of the driver" }
      @offset_lookup.open([lane = new_lane])
      @driver.singleton_class.remove_method(:fetch_committed)
      @session.now = @offset_lookup.next_due
      @offset_lookup.run
      answer(42)
      assert lane.open?
    end

    test "without our patches a request that times out may mean that a transaction blocks the offset" do
      ended = []
      [true, false].each do |patched|
        @offset_lookup = Runtime::OffsetLookup.new(@session, codec: @codec, committer: @committer, unstable: -> {
          ended << patched
        },
          patched: patched)
        @offset_lookup.open([new_lane])
        @offset_lookup.answered([:committed, @driver.asked.last.first, Native.error_number(:timed_out), "timed out", []])
      end
      assert_equal [false], ended
    end

    test "an answer for a lane that is gone is dropped" do
      lane = new_lane
      @offset_lookup.open([lane])
      @session.lanes.clear
      answer(42)
      refute lane.open?
    end

    test "a new partition of a topic that the group consumes already begins at its beginning, also when groups begin at latest" do
      lane = new_lane(initial_offset: "latest")
      @offset_lookup.open([lane])
      answer(-1001)
      assert_equal [["orders", -1]], @driver.asked.last.last
      @offset_lookup.answered([:committed, @driver.asked.last.first, 0, nil, [["orders", 5, 100, nil, -1, 0]]])
      assert lane.open?
      ports = admit(lane, batch([70, 71], from: -1001))
      assert_equal [[["orders", 0], :earliest, :newcomer]], ports.seeks
      admit(lane, batch([0, 1], from: -2))
      assert_equal [0, 1], offsets_of(lane.next_unit)
    end

    test "a topic begins where its route specifies, even if others of its connection begin elsewhere" do
      {"earliest" => :earliest, "latest" => nil}.each do |initial, sought|
        lane = new_lane(initial_offset: initial)
        @offset_lookup.open([lane])
        answer(-1001)
        assert asks_all?
        answer_all
        assert_equal sought.inspect, lane.takes.begin.inspect
      end
    end

    test "another program's metadata counts as the user's; damaged metadata is reported" do
      lane = new_lane
      @offset_lookup.open([lane])
      2.times { answer(42, "their own") }
      assert_equal ["their own", []], [lane.adopted_metadata, @session.events]
      other = new_lane
      @offset_lookup.open([other])
      2.times { answer(43, @codec.encode(lane, 42, clean: true)) }
      assert_equal "offsets.metadata_ignored", @session.events.last.first
    end
  end
end
