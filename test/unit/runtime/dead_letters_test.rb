# frozen_string_literal: true

require "test_helper"
require "support/failing"
require "support/virtual_clock"
require "penstock/producer/delivery/dry_handle"
require "penstock/producer/delivery/report"
require "penstock/runtime/dead_letters"

module Penstock
  class DeadLettersTest < TestCase
    include TestSupport::Failing

    # A delivery the test decides about.
    class Handle < Producer::Delivery::DryHandle
      attr_accessor :number

      def done? = !@number.nil?
      def row = [nil, @number, topic, 0, 5, -1, @number.zero? ? :persisted : :not]
    end

    # Hands out handles until it is full, or refuses.
    class Sender
      attr_accessor :full, :refusal
      attr_reader :handles

      def initialize = @handles = []

      def dispatch(message)
        raise @refusal if @refusal
        return if @full

        Handle.new(topic: message[:topic], partition: 0, offset: 5).tap { |handle| @handles << handle }
      end
    end

    Session = Struct.new(:clock, :events) do
      def now = clock.monotonic_ms
      def emit(name, payload) = events << [name, payload]
    end

    # Remembers what is to be committed.
    class Committer
      attr_reader :asked

      def initialize = @asked = []
      def want(lanes) = @asked << [:want, lanes]
      def moved = @asked << [:moved]
    end

    def setup
      @clock = VirtualClock.new
      @session = Session.new(@clock, [])
      @committer = Committer.new
      @sender = Sender.new
      @letters = Runtime::DeadLetters.new(@session, @committer, Ports.new)
      @lane = filled(3, dead_letters(0))
    end

    # The first record fails for good.
    def bury(**changes)
      burial = fail_at(@lane, @lane.next_unit, 0).first
      letter = Processing::Failure::Letter.new(**burial.letter.to_h, producer: @sender)
      @letters.add(@lane, Processing::Failure::Burial.new(**burial.to_h, letter: letter, **changes))
    end

    def pass(duration_ms)
      @clock.advance(duration_ms)
      @letters.run
    end

    def told = @session.events.map { |name, payload| payload[:type] || name }

    # As {Sender}, of a producer with transactions.
    class TransactionalSender < Sender
      attr_reader :arounds

      def transactional? = true

      def dispatch(message, around: nil)
        (@arounds ||= []) << around
        super(message)
      end
    end

    test "with a transactional producer a letter waits while the end of its lane's transaction isn't known, and goes but once" do
      @sender = TransactionalSender.new
      claim = Object.new
      @lane.offset_slot.ask(claim)
      @lane.offset_slot.open(claim)
      @lane.offset_slot.lose(claim)
      bury(together: true)
      pass(1_000)
      assert_nil @sender.arounds
      @lane.offset_slot.close(claim)
      pass(1_000)
      assert_equal 1, @sender.arounds.compact.size
      @sender.handles.first.number = -185
      @lane.drop([0]) # what could not be said then is known now: it was committed
      pass(60_000)
      pass(60_000)
      assert_equal [1, 1, true], [@sender.arounds.size, @lane.position, @lane.idle?]
    end

    test "a letter that isn't to be one with its record's offset is sent by itself" do
      @sender = TransactionalSender.new
      bury(together: false)
      pass(1_000)
      assert_equal [nil], @sender.arounds
    end

    test "the record is complete, and the lane goes on, when the letter is acknowledged, not before" do
      bury
      pass(5)
      assert_equal [0, false, [:dead_letter]], [@lane.position, @lane.idle?, @lane.holds.reasons]
      @sender.handles.first.number = 0
      pass(2_000)
      assert_equal [1, true, true], [@lane.position, @lane.idle?, @lane.holds.open?]
      assert_equal [["dead_letter_queue.dispatched"], [[:moved]], 0], [told, @committer.asked, @letters.size]
    end

    test "[DLQ event/manual dispatch] the event carries record, attempt, error and where it went" do
      bury
      @sender.handles.first.number = 0
      pass(1)
      payload = @session.events.first.last
      assert_equal ["orders", 0, 0, 1, "dead", 0],
        payload.values_at(:topic, :partition, :offset, :attempt, :to) << payload[:message].offset
    end

    test "[DLQ sync modes] it is committed at once where the route says so" do
      bury(commit: true)
      @sender.handles.first.number = 0
      pass(1)
      assert_equal [[:want, [@lane]]], @committer.asked
    end

    test "a failed dispatch is told each time and made again, later and later, without the record being run" do
      bury
      waits = Array.new(4) do
        @sender.handles.last.number = -192
        pass(50)
        before = @sender.handles.size
        wait = 0
        pass(wait += 50) until wait > 60_000 || @sender.handles.size > before
        (1..).lazy.map { wait }.first
      end
      assert_equal ["dead_letter_queue.dispatch.error"] * 4, told
      assert_equal [1, 2, 3, 4], @session.events.map { |_name, payload| payload[:failures] }
      assert_equal waits.sort, waits
      refute @lane.waiting?
      assert_equal 0, @lane.position
    end

    test "a full queue is tried again soon, and told once a letter" do
      @sender.full = true
      bury
      5.times { pass(100) }
      assert_equal ["dead_letter_queue.dispatch.error"], told
      @sender.full = false
      pass(100)
      assert_equal 1, @sender.handles.size
    end

    test "a producer that refuses or is closed fails the dispatch, never the loop" do
      @sender.refusal = ProducerClosedError.new("closed")
      bury
      assert_equal ["dead_letter_queue.dispatch.error"], told
      @sender.refusal = nil
      pass(500)
      assert_equal 1, @sender.handles.size
    end

    test "a lane that is lost or sought takes its letters with it, and a late acknowledgement changes nothing" do
      [-> { @lane.disown! }, -> { @lane.reincarnate(0) }].each do |interrupt|
        setup
        bury
        interrupt.call
        assert_predicate @lane, :idle?
        @sender.handles.first.number = 0
        pass(100)
        assert_equal [0, [], []], [@letters.size, told, @committer.asked]
        assert_predicate @lane, :idle?
      end
    end

    test "a revocation waits for a letter as for a unit" do
      bury
      @lane.leave!
      refute_predicate @lane, :idle?
      @sender.handles.first.number = 0
      pass(100)
      assert_predicate @lane, :idle?
      assert_equal 1, @lane.position
    end

    test "it says when it wants to run again, and nothing without letters" do
      assert_nil @letters.next_due
      bury
      assert_equal @clock.monotonic_ms + 1, @letters.next_due
      10.times { pass(60) }
      assert_equal @clock.monotonic_ms + 50, @letters.next_due
      @letters.close
      assert_nil @letters.next_due
    end
  end
end
