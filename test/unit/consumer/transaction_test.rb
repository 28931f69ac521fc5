# frozen_string_literal: true

require "test_helper"
require "penstock/consumer/transaction"
require "penstock/consumer/marks"
require "penstock/producer"
require "penstock/producer/transaction"

module Penstock
  class ConsumerTransactionTest < TestCase
    Lane = Struct.new(:topic_name, :partition, :incarnation, :marks)
    Record = Struct.new(:mark_cell, :offset)

    # Answers claims as a test dictates, and records the reports it gets.
    class Link
      attr_reader :claims, :words

      def initialize(&answer)
        @answer = answer
        @claims = []
        @words = []
      end

      def claim(claim)
        @claims << claim
        @answer&.call(claim)
      end

      def end_claim(claim, fate) = @words << [claim, fate]
    end

    # A producer whose transactions end as a test dictates.
    class Producer
      attr_reader :sent

      def initialize(fate: :committed, error: nil)
        @fate = fate
        @error = error
        @sent = []
      end

      def id = "p"

      def send_offsets(rows, group)
        @sent << [rows, group]
        raise @error if @error
      end

      def transaction
        transaction = Penstock::Producer::Transaction.new(self)
        result = yield transaction
        transaction.fate = @fate
        result
      rescue AbortTransaction
        nil
      ensure
        transaction.close
      end
    end

    GRANT = ->(claim) { claim.grant(["orders", 0, 8, "map", 1], :group) }

    def transaction(link, producer = Producer.new)
      @marks = Consumer::Marks.new
      Consumer::Transaction.new(Lane.new("orders", 0, 2, @marks), link, producer, nil)
    end

    test "marks make a claim at the end of the block; the granted offset is sent, and the end is reported to the loop" do
      link = Link.new(&GRANT)
      one = transaction(link, producer = Producer.new)
      assert_equal(:done, one.call do |given|
        assert_predicate given, :open?
        one.mark(Record.new(nil, 5), "a")
        one.mark(Record.new(nil, 7), nil)
        assert_empty link.claims
        :done
      end)
      claim = link.claims.first
      assert_equal [[[nil, 5], [nil, 7]], "a", 2], [claim.marks, claim.metadata, claim.incarnation]
      assert_equal [[[["orders", 0, 8, "map", 1]], :group]], producer.sent
      assert_equal [[[claim, :committed]], true, :committed], [link.words, one.carried, one.outcome]
    end

    test "a record that was read before a seek can't be marked after it" do
      link = Link.new(&GRANT)
      one = transaction(link)
      old = Consumer::Marks.new
      assert_raises(AssignmentLostError) do
        one.call do
          one.mark(Record.new(old, 5), nil)
          old.end_ownership!
          one.mark(Record.new(old, 6), nil)
        end
      end
      assert_empty link.claims
    end

    test "a transaction without a mark makes no claim" do
      link = Link.new
      one = transaction(link)
      one.call { 1 }
      assert_equal [[], [], false], [link.claims, link.words, one.carried]
    end

    test "an abort makes no claim; an unknown end is reported as unknown" do
      link = Link.new(&GRANT)
      aborted = transaction(link)
      assert_nil(aborted.call { aborted.mark(Record.new(nil, 5), nil) && raise(AbortTransaction) })
      assert_empty link.claims

      unknown = transaction(link, Producer.new(fate: :unknown))
      unknown.call { unknown.mark(Record.new(nil, 5), nil) }
      assert_equal [[link.claims.first, :unknown]], link.words
      refute unknown.carried
    end

    test "[transaction after loss] marking raises before the end and at the end, and a refused claim is withdrawn" do
      link = Link.new(&:refuse)
      one = transaction(link)
      assert_raises(AssignmentLostError) { one.call { one.mark(Record.new(nil, 5), nil) } }
      assert_equal [[link.claims.first, :aborted]], link.words

      two = transaction(link)
      @marks.end_ownership!
      assert_raises(AssignmentLostError) { two.call { two.mark(Record.new(nil, 5), nil) } }
      assert_equal 1, link.claims.size
    end

    test "an error code for a replaced member raises AssignmentLostError; other errors are raised unchanged" do
      {illegal_generation: AssignmentLostError, unknown_member_id: AssignmentLostError,
       group_authorization_failed: KafkaError}.each do |code, expected|
        error = KafkaError.build(number: 1, name: code.to_s, abortable: true)
        one = transaction(link = Link.new(&GRANT), Producer.new(error: error))
        assert_raises(expected) { one.call { one.mark(Record.new(nil, 5), nil) } }
        assert_equal :aborted, link.words.first.last
      end
    end

    test "metadata that the coordinator rejects is reported with the claim, and no record is blamed" do
      error = KafkaError.build(number: 12, name: "offset_metadata_too_large", abortable: true)
      one = transaction(link = Link.new(&GRANT), Producer.new(error: error))
      assert_raises(TransactionDeferredError) { one.call { one.mark(Record.new(nil, 5), nil) } }
      assert_equal 3, link.claims.first.too_large
    end

    test "when the slot isn't freed in time no record is blamed" do
      one = transaction(link = Link.new { |claim| claim.define_singleton_method(:wait) { |_timeout_s| nil } })
      assert_raises(TransactionDeferredError) { one.call { one.mark(Record.new(nil, 5), nil) } }
      assert_equal :aborted, link.words.first.last
    end

    test "a kill during the report to the loop doesn't suppress the report" do
      link = Link.new(&GRANT)
      said = link.method(:end_claim).unbind
      link.define_singleton_method(:end_claim) do |claim, fate|
        killed = Thread.current
        Thread.new { killed.kill }.join
        said.bind_call(self, claim, fate)
      end
      one = transaction(link)
      Thread.new { one.call { one.mark(Record.new(nil, 5), nil) } }.join
      assert_equal [[link.claims.first, :committed]], link.words
    end
  end
end
