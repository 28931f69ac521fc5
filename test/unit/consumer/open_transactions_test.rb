# frozen_string_literal: true

require "test_helper"
require "penstock/consumer/context"
require "penstock/producer"
require "penstock/producer/transaction"

module Penstock
  # A consumer's transactions: who may open one, with which producer, and what may be marked outside of them.
  class OpenTransactionsTest < TestCase
    Topic = Struct.new(:manual) do
      def manual_offset_management? = manual
    end
    Lane = Struct.new(:topic_name, :partition, :incarnation, :marks, :topic)
    Record = Struct.new(:topic, :partition, :offset, :mark_cell) do
      def uid = "#{topic}/#{partition}/#{offset}"
    end
    Unit = Struct.new(:incarnation, :messages, :attempt, :collapsed, :action) do
      def consume? = true
    end

    # The poll loop's side of a claim: grants it.
    class Loop
      attr_reader :emitted, :claims

      def initialize
        @emitted = []
        @claims = []
      end

      def producer = @producer ||= Producer.new("own")
      def instrument(event, payload) = @emitted << [event, payload]
      def end_claim(claim, fate) = @claims << [claim, fate]
      def claim(claim) = claim.grant([claim.lane.topic_name, 0, 8, "map", 1], :group)
    end

    # A producer whose transactions are committed.
    class Producer
      attr_reader :id

      def initialize(id) = @id = id
      def produce_async(*) = nil
      def send_offsets(*) = nil

      def transaction
        transaction = Penstock::Producer::Transaction.new(self)
        yield(transaction).tap { transaction.fate = :committed }
      ensure
        transaction.fate ||= :aborted
        transaction.close
      end
    end

    # Lends a producer.
    Pool = Struct.new(:producer) do
      def with = yield(producer)
    end

    def context(manual: true, loop: Loop.new)
      @loop = loop
      @lane = Lane.new("orders", 0, 1, Consumer::Marks.new, Topic.new(manual))
      Consumer::Context.new(@lane, loop).tap { |context| context.consumer = :consumer }
    end

    def record(offset) = Record.new("orders", 0, offset, nil)

    test "inside of the block the transaction is the caller's, its producer is the consumer's, and afterwards neither is" do
      one = context
      inside = one.transaction(other = Producer.new("other")) { [one.current_transaction.producer, one.producer] }
      assert_equal [[other, other], nil, @loop.producer], [inside, one.current_transaction, one.producer]
    end

    test "without a producer it is the consumer's own; a pool lends one" do
      one = context
      assert_same @loop.producer, one.transaction(nil) { one.producer }
      assert_equal "lent", one.transaction(Pool.new(Producer.new("lent"))) { one.producer.id }
    end

    test "without a block, or with something else than a producer, nothing is begun" do
      one = context
      assert_equal "transaction needs a block: what it produces and marks becomes visible together",
        assert_raises(ArgumentError) { one.transaction(nil) }.message
      assert_equal "transaction takes a producer, or a pool of producers, not 3: leave it out to use the consumer's own",
        assert_raises(ArgumentError) { one.transaction(3) { flunk } }.message
      refute_predicate one, :transacted?
    end

    test "a caller in a transaction can't open another; another fiber can" do
      one = context
      one.transaction(nil) do
        refused = assert_raises(TransactionAlreadyInitializedError) { one.transaction(nil) { flunk } }
        assert_match(%r{orders/0 is already in a transaction}, refused.message)
        assert_equal :other, Fiber.new { one.transaction(Producer.new("p")) { :other } }.resume
      end
      assert_equal :again, one.transaction(nil) { :again }
    end

    test "where the loop takes no claims, as in a process of a pool, transactions are refused" do
      refused = assert_raises(UnsupportedCaseError) { context(loop: Struct.new(:producer).new(1)).transaction(nil) { flunk } }
      assert_match(%r{orders/0 runs in a process of a pool.*run it on :threads}, refused.message)
    end

    test "an error of the block ends the transaction, and the caller may open the next" do
      one = context
      assert_raises(KeyError) { one.transaction(nil) { raise KeyError } }
      assert_nil one.current_transaction
      assert_equal 1, one.transaction(nil) { 1 }
    end

    test "each end is an event with its outcome and its producer" do
      one = context
      one.transaction(Producer.new("p")) { 1 }
      assert_raises(KeyError) { one.transaction(nil) { raise KeyError } }
      assert_equal [["p", :committed], ["own", :aborted]], @loop.emitted.map { |_event, payload|
        payload.values_at(:producer_id, :outcome)
      }
      assert_equal ["consumer.consuming.transaction", {topic: "orders", partition: 0, caller: :consumer}],
        @loop.emitted[0].then { |event, payload| [event, payload.slice(:topic, :partition, :caller)] }
    end

    test "a mark in a transaction belongs to it; after its commit a mark outside is refused with manual offsets" do
      one = context
      one.transaction(nil) { assert one.mark(record(5)) }
      assert_equal [[[[nil, 5]], :committed]], @loop.claims.map { |claim, fate| [claim.marks, fate] }
      refused = assert_raises(NonTransactionalMarkingAttemptError) { one.mark(record(6)) }
      assert_match(%r{orders/0/6 is marked outside of a transaction.*wrap it in `transaction}, refused.message)
      other = Consumer::Context.new(@lane, @loop)
      assert_raises(NonTransactionalMarkingAttemptError) { other.mark(record(6)) }
    end

    test "a transaction without marks, and automatic offsets, leave marks outside allowed" do
      one = context
      one.transaction(nil) { 1 }
      assert one.mark(record(5))
      one = context(manual: false)
      one.transaction(nil) { one.mark(record(5)) }
      assert one.mark(record(6))
    end

    test "a transaction commits its marks although the call has requested a seek, which takes effect afterwards" do
      one = context
      one.begin_unit(Unit.new(1, [], 1, nil, :consume))
      one.seek(2, true)
      assert_equal [false, true], [one.mark(record(5)), one.transaction(nil) { one.mark(record(5)) }]
      assert_equal [[5, :committed]], @loop.claims.map { |claim, fate| [claim.marks.last.last, fate] }
    end

    test "a unit during which a transaction began is known as transacted until the next unit begins" do
      one = context
      one.begin_unit(unit = Unit.new(1, [], 1, nil, :consume))
      refute_predicate one, :transacted?
      one.transaction(nil) { one.mark(record(5)) }
      assert_predicate one, :transacted?
      assert_same unit, @loop.claims.last.first.unit
      one.take_flow
      one.transaction(nil) { one.mark(record(7)) }
      assert_nil @loop.claims.last.first.unit, "no unit runs"
      one.begin_unit(Unit.new(1, [], 1, nil, :consume))
      refute_predicate one, :transacted?
    end
  end
end
