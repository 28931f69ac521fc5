# frozen_string_literal: true

require "test_helper"
require "support/admission"
require "penstock/consumer/marking_each"
require "penstock/routing/features/adaptive_iterator"

module Penstock
  class MarkingEachTest < TestCase
    include TestSupport::Admission

    # A consumer, and its context, that record the calls they get.
    class Asked
      attr_accessor :revoked, :owned
      attr_reader :marked, :left

      def initialize
        @marked = []
        @owned = true
      end

      def revoked? = revoked
      def complete_marked_only = @left = true

      def mark_as_consumed(message)
        @marked << message.offset
        owned
      end
    end

    def setup
      @consumer = Asked.new
      @messages = keyed("a", "b", "c")
    end

    def each(clean: true, &block)
      Consumer::MarkingEach.new(@consumer, Routing::AdaptiveIterator.new(:mark_as_consumed, clean), @consumer)
        .call(@messages, &block)
    end

    test "[adaptive iterator] each message is marked after the block, and its payload is cleared" do
      seen = {}
      each { |message| seen[message] = @consumer.marked.dup }
      assert_equal [[], [0], [0, 1]], seen.values
      assert_equal [[0, 1, 2], nil], [@consumer.marked, @consumer.left]
      assert seen.each_key.all?(&:cleaned?)
    end

    test "messages keep their payload where the route configures it" do
      kept = []
      each(clean: false) { |message| kept << message }
      assert kept.none?(&:cleaned?)
    end

    test "[adaptive iterator] it ends when the partition is being revoked; the next owner gets the remaining messages" do
      each { |message| @consumer.revoked = message.offset == 1 }
      assert_equal [[0, 1], true], [@consumer.marked, @consumer.left]
    end

    test "it ends when a mark doesn't count: messages that weren't yielded aren't complete" do
      @consumer.owned = false
      each { nil }
      assert_equal [[0], true], [@consumer.marked, @consumer.left]
    end

    test "a message whose block raises isn't marked" do
      assert_raises(RuntimeError) { each { |message| raise "broken" if message.offset == 1 } }
      assert_equal [0], @consumer.marked
    end
  end
end
