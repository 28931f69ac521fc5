# frozen_string_literal: true

require "test_helper"
require "penstock/runtime/inquiry"
require "penstock/runtime/mailbox"

module Penstock
  class InquiryTest < TestCase
    Claim = Struct.new(:producer, :transaction)

    # Says what became of a transaction, one answer after the other.
    class Producer
      attr_reader :answers

      def initialize(*answers) = @answers = answers
      def settle_transaction(_transaction) = (@answers.size > 1) ? @answers.shift : @answers.first
    end

    def setup
      @mailbox = Runtime::Mailbox.new
      @pauses = []
    end

    def run_for(claim) = Runtime::Inquiry.new(claim, @mailbox, pause: ->(delay_ms) { @pauses << delay_ms }).run

    test "a producer is asked, ever later, until it knows, and the loop is told" do
      claim = Claim.new(Producer.new(*[:unknown] * 8, :committed), nil)
      run_for(claim)
      assert_equal [20, 40, 80, 160, 320, 640, 1_000, 1_000], @pauses
      word = @mailbox.shift
      assert_equal [claim, :committed], [word.claim, word.fate]
    end

    test "with the loop the question ends" do
      @mailbox.close
      run_for(Claim.new(Producer.new(:unknown), nil))
      assert_empty @pauses
    end
  end
end
