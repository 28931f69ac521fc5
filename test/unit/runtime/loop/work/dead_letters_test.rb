# frozen_string_literal: true

require "test_helper"
require "support/failing"
require "support/virtual_clock"
require "penstock/producer"
require "penstock/producer/delivery/dry_handle"
require "penstock/producer/delivery/report"
require "penstock/runtime/loop/work/dead_letters"

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
      attr_accessor :full, :refusal, :closed
      alias_method :closed?, :closed
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
      def request_commit(lanes) = @asked << [:request_commit, lanes]
      def schedule_commit = @asked << [:schedule_commit]
    end

    def setup
      @clock = VirtualClock.new
      @session = Session.new(@clock, [])
      @committer = Committer.new
      @sender = Sender.new
      @letters = Runtime::DeadLetters.new(@session, @committer, Ports.new)
      @lane = filled(3, dead_letters(0))
    end

    # The first record fails permanently.
    def dead_letter(lane = @lane, letter: {}, **changes)
      request = fail_at(lane, lane.next_unit, 0).first
      letter = Processing::Failure::Letter.new(**request.letter.to_h, producer: @sender, **letter)
      @letters.add(lane, Processing::Failure::LetterRequest.new(**request.to_h, letter: letter, **changes))
    end

    # The same where the route allows letters with less content.
    LARGE = {reference: true, dispatch: {topic: "dead", key: "k", payload: "large", headers: {"from" => "web"}}}.freeze

    def too_large = KafkaError.new("too large", code: :msg_size_too_large, number: 10)

    def omitted = @session.events.filter_map { |_name, payload| payload[:omitted] }

    def pass(duration_ms)
      @clock.advance(duration_ms)
      @letters.run
    end

    def told = @session.events.map { |name, payload| payload[:type] || name }

    # Like {Sender}, of a producer with transactions.
    class TransactionalSender < Sender
      attr_reader :arounds

      def transactional? = true

      def dispatch(message, around: nil)
        (@arounds ||= []) << around
        super(message)
      end
    end

    test "with a transactional producer a letter waits while the end of its lane's transaction isn't known, and is sent once" do
      @sender = TransactionalSender.new
      claim = Object.new
      @lane.offset_slot.add(claim)
      @lane.offset_slot.grant(claim)
      @lane.offset_slot.mark_unknown(claim)
      dead_letter(in_transaction: true)
      pass(1_000)
      assert_nil @sender.arounds
      @lane.offset_slot.close(claim)
      pass(1_000)
      assert_equal 1, @sender.arounds.compact.size
      @sender.handles.first.number = -185
      @lane.drop([0]) # the outcome is known now: it was committed
      pass(60_000)
      pass(60_000)
      assert_equal [1, 1, true], [@sender.arounds.size, @lane.committable_offset, @lane.idle?]
    end

    test "a letter that has failed is sent once more when its partition is about to leave, at once, and then dropped" do
      dead_letter
      2.times do
        @sender.handles.last.number = -185
        pass(60_000)
        pass(60_000)
      end
      @sender.handles.last.number = -185
      pass(50)
      assert_equal 3, @sender.handles.size
      @lane.leave!
      assert_equal 0, @letters.next_due
      pass(1)
      assert_equal [4, false], [@sender.handles.size, @lane.idle?]
      @sender.handles.last.number = -185
      pass(50)
      assert_equal [0, true, 0], [@letters.size, @lane.idle?, @lane.committable_offset]
      last = @session.events.last.last
      assert_equal [:next_owner, nil], last.values_at(:next, :retry_in_ms)
    end

    test "the last try of a letter doesn't wait for room in the producer's queue" do
      dead_letter
      @sender.handles.last.number = -185
      pass(50)
      @lane.leave!
      @sender.full = true
      pass(1)
      assert_equal [0, true, 0], [@letters.size, @lane.idle?, @lane.committable_offset]
    end

    test "a partition that doesn't exist, which user code has chosen, is left out" do
      dead_letter(letter: {dispatch: {topic: "dead", payload: "x", partition: 9}})
      @sender.handles.last.number = -190
      pass(50)
      pass(50)
      @sender.handles.last.number = 0
      pass(50)
      assert_equal [2, true], [@sender.handles.size, @lane.idle?]
      assert_equal ["error.occurred", 0], [@session.events.first.first, @session.events.first.last[:retry_in_ms]]
    end

    test "a letter that isn't in one transaction with its record's offset is sent by itself" do
      @sender = TransactionalSender.new
      dead_letter(in_transaction: false)
      pass(1_000)
      assert_equal [nil], @sender.arounds
    end

    test "the record is complete, and the lane continues, when the letter is acknowledged, not before" do
      dead_letter
      pass(5)
      assert_equal [0, false, [:dead_letter]], [@lane.committable_offset, @lane.idle?, @lane.holds.reasons]
      @sender.handles.first.number = 0
      pass(2_000)
      assert_equal [1, true, true], [@lane.committable_offset, @lane.idle?, @lane.holds.open?]
      assert_equal [["dead_letter_queue.dispatched"], [[:schedule_commit]], 0], [told, @committer.asked, @letters.size]
    end

    test "[DLQ event/manual dispatch] the event has record, attempt, error and the letter's topic" do
      dead_letter
      @sender.handles.first.number = 0
      pass(1)
      payload = @session.events.first.last
      assert_equal ["orders", 0, 0, 1, "dead", 0],
        payload.values_at(:topic, :partition, :offset, :attempt, :to) << payload[:message].offset
    end

    test "[DLQ sync modes] the offset is committed at once where the route requires it" do
      dead_letter(commit: true)
      @sender.handles.first.number = 0
      pass(1)
      assert_equal [[:request_commit, [@lane]]], @committer.asked
    end

    test "each failed dispatch is reported and repeated with a longer wait, without the record being run" do
      dead_letter
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
      assert_equal 0, @lane.committable_offset
    end

    test "a full queue is tried again soon, and reported once per letter" do
      @sender.full = true
      dead_letter
      5.times { pass(100) }
      assert_equal ["dead_letter_queue.dispatch.error"], told
      @sender.full = false
      pass(100)
      assert_equal 1, @sender.handles.size
    end

    # If the closed producer was the application's, it has a replacement.
    Link = Struct.new(:other) do
      def producer_replacement(_closed) = other
    end

    test "a letter is sent with the replacement when the application's producer was closed" do
      other = Sender.new
      @letters = Runtime::DeadLetters.new(@session, @committer, Ports.new, Link.new(other))
      @sender.refusal, @sender.closed = ProducerClosedError.new("closed"), true
      dead_letter
      other.refusal = ProducerClosedError.new("never connected")
      pass(500)
      other.refusal = nil
      pass(500)
      other.handles.first.number = 0
      pass(50)
      assert_equal [1, %w[dead_letter_queue.dispatch.error dead_letter_queue.dispatched]], [@lane.committable_offset, told]
    end

    test "with a closed producer that isn't the application's a letter waits, and the error shows what to do" do
      @letters = Runtime::DeadLetters.new(@session, @committer, Ports.new, Link.new(nil))
      @sender.refusal, @sender.closed = ProducerClosedError.new("the producer mine is closed"), true
      dead_letter
      pass(500)
      messages = @session.events.map { |_name, payload| payload[:error].message }.uniq
      assert_equal [1, 0], [messages.size, @lane.committable_offset]
      assert_includes messages.first, "the producer mine is closed. Do not close this producer"
    end

    test "a producer that refuses or is closed fails the dispatch, never the loop" do
      @sender.refusal = ProducerClosedError.new("closed")
      dead_letter
      assert_equal ["dead_letter_queue.dispatch.error"], told
      @sender.refusal = nil
      pass(500)
      assert_equal 1, @sender.handles.size
    end

    test "a letter the producer refuses for its size is resent at once, omitting as little as possible, and reported each time" do
      @sender.refusal = too_large
      dead_letter(letter: LARGE)
      3.times { pass(0) }
      assert_equal %w[payload payload,headers payload,headers,key], omitted
      pass(0)
      assert_equal ["dead_letter_queue.dispatch.error"], told.uniq - ["dead_letter_queue.oversized.error"], "nothing is left"
      @sender.refusal = nil
      pass(500)
      @sender.handles.first.number = 0
      pass(50)
      assert_equal ["dead_letter_queue.dispatched", "payload,headers,key", 1],
        [told.last, @session.events.last.last[:omitted], @lane.committable_offset]
    end

    test "a letter that was built with less content is reported when it is sent" do
      dead_letter(letter: {**LARGE, refusal: MessageTooLargeError.new("large")})
      assert_equal [["dead_letter_queue.oversized.error"], 1], [told, @sender.handles.size]
    end

    test "a letter refused for its size by a broker is sent alone before it is reduced: its batch may be the reason" do
      other = filled(3, dead_letters(0))
      [@lane, other].each { |lane| dead_letter(lane, letter: LARGE) }
      @sender.handles.each { |handle| handle.number = 10 }
      pass(1)
      assert_equal ["dead_letter_queue.dispatch.error"] * 2, told
      pass(500)
      assert_equal 3, @sender.handles.size, "the other waits"
      @sender.handles.last.number = 0
      pass(50)
      pass(50)
      assert_equal [4, 1], [@sender.handles.size, [@lane, other].map(&:committable_offset).sum]
      2.times do
        @sender.handles.last.number = 10
        pass(2_000)
        pass(2_000)
      end
      assert_equal ["payload"], omitted
    end

    test "others needn't wait for a letter that is refused again and again, except while it is under way" do
      dead_letter(letter: LARGE.merge(reference: false))
      @sender.handles.first.number = 10
      pass(1)
      other, third = filled(3, dead_letters(0)), filled(3, dead_letters(0))
      dead_letter(other)
      assert_equal 2, @sender.handles.size
      pass(600)
      pass(600)
      assert_equal 2, @sender.handles.size, "it waits for the other's end"
      dead_letter(third)
      assert_equal 2, @sender.handles.size, "a later letter doesn't overtake it for ever"
      @sender.handles.last.number = 0
      6.times { pass(50) }
      assert_equal 3, @sender.handles.size
      @sender.handles.last.number = 10
      6.times { pass(50) }
      assert_equal [4, []], [@sender.handles.size, omitted]
    end

    test "a record too large for its retry topic is dead-lettered, whole if that is accepted" do
      @sender.refusal = too_large
      dead_letter(letter: {reference: true, kind: :retry, dispatch: {topic: "orders.retry.1", payload: "large"},
                           instead: LARGE[:dispatch]})
      @sender.refusal = nil
      pass(0)
      @sender.handles.first.number = 0
      pass(50)
      assert_equal [%w[dead_letter_queue.oversized.error dead_letter_queue.dispatched], "dead", []],
        [told, @session.events.last.last[:to], omitted]
    end

    test "a letter whose record turns out to be complete is finished, once" do
      @sender = TransactionalSender.new
      request = fail_at(@lane, @lane.next_unit, 0).first
      letter = Processing::Failure::Letter.new(**request.letter.to_h, producer: @sender)
      @lane.drop([0])
      @letters.add(@lane, Processing::Failure::LetterRequest.new(**request.to_h, letter: letter, in_transaction: true))
      pass(50)
      assert_equal [0, ["dead_letter_queue.dispatched"], true], [@letters.size, told, @lane.idle?]
    end

    test "a lane that is lost or sought drops its letters, and a late acknowledgement changes nothing" do
      [-> { @lane.end_ownership! }, -> { @lane.reincarnate(0) }].each do |interrupt|
        setup
        dead_letter
        interrupt.call
        assert_predicate @lane, :idle?
        @sender.handles.first.number = 0
        pass(100)
        assert_equal [0, [], []], [@letters.size, told, @committer.asked]
        assert_predicate @lane, :idle?
      end
    end

    test "a revocation waits for a letter as for a unit" do
      dead_letter
      @lane.leave!
      refute_predicate @lane, :idle?
      @sender.handles.first.number = 0
      pass(100)
      assert_predicate @lane, :idle?
      assert_equal 1, @lane.committable_offset
    end

    test "the next run is due with the next letter, and never without letters" do
      assert_nil @letters.next_due
      dead_letter
      assert_equal @clock.monotonic_ms + 1, @letters.next_due
      20.times { pass(60) }
      assert_equal @clock.monotonic_ms + 50, @letters.next_due
      @letters.close
      assert_nil @letters.next_due
    end

    # As a letter watch, without a thread.
    Watch = Struct.new(:news) do
      alias_method :done?, :news
      def add(_handle) = nil
      def take_done = news.tap { self.news = false }
    end

    test "news of a letter that is gone don't stay" do
      letters = Runtime::DeadLetters.new(@session, @committer, Ports.new, watch: Watch.new(true))
      assert_predicate letters, :letters_done?
      letters.run
      refute_predicate letters, :letters_done?
    end
  end
end
