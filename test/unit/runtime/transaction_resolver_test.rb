# frozen_string_literal: true

require "test_helper"
require "penstock/runtime/process_context"
require "penstock/runtime/transaction_resolver"
require "penstock/runtime/loop/mailbox"

module Penstock
  class TransactionResolverTest < TestCase
    Claim = Struct.new(:producer, :transaction)

    # Returns the outcome of a transaction, one answer after another.
    class Producer
      attr_reader :answers

      def initialize(*answers) = @answers = answers
      def settle_transaction(_transaction) = (@answers.size > 1) ? @answers.shift : @answers.first
    end

    def setup
      @mailbox = Runtime::Mailbox.new
      @pauses = []
    end

    def run_for(claim) = Runtime::TransactionResolver.new(claim, @mailbox, pause: ->(delay_ms) { @pauses << delay_ms }).run

    test "a producer is asked, at growing intervals, until it knows, and the loop gets the answer" do
      claim = Claim.new(Producer.new(*[:unknown] * 8, :committed), nil)
      run_for(claim)
      assert_equal [20, 40, 80, 160, 320, 640, 1_000, 1_000], @pauses
      word = @mailbox.shift
      assert_equal [claim, :committed], [word.claim, word.fate]
    end

    test "an error is reported, once per class, and the question repeated" do
      answers = [-> { raise IOError }, -> { raise IOError }, -> { raise ArgumentError }, -> { :committed }]
      producer = Object.new
      producer.define_singleton_method(:settle_transaction) { |_transaction| answers.shift.call }
      told = []
      Runtime::TransactionResolver.new(Claim.new(producer, nil), @mailbox, pause: @pauses.method(:<<),
        report: told.method(:<<)).run
      assert_equal [:committed, [IOError, ArgumentError], 3], [@mailbox.shift.fate, told.map(&:class), @pauses.size]
    end

    test "where no thread can be started, resolve_transaction returns false and the loop continues" do
      host = Runtime::ProcessContext.allocate
      threads = Object.new
      threads.define_singleton_method(:start) { |_name| raise ThreadError, "can't create Thread" }
      told = []
      threads.define_singleton_method(:report) { |_name, error| told << error }
      host.instance_variable_set(:@threads, threads)
      refute host.resolve_transaction(Claim.new(nil, nil), @mailbox)
      assert_equal [ThreadError], told.map(&:class)
    end

    test "the resolver ends with the loop" do
      @mailbox.close
      run_for(Claim.new(Producer.new(:unknown), nil))
      assert_empty @pauses
    end
  end
end
