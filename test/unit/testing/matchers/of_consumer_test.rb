# frozen_string_literal: true

require "test_helper"
require "support/kit_examples"
require "penstock/testing/matchers/of_consumer"

module Penstock
  class MatcherOfConsumerTest < TestCase
    include TestSupport::KitExamples

    M = Testing::Matchers
    NAME = "the consumer Penstock::TestSupport::KitExamples::BlockConsumer of"

    # @return [BaseConsumer] that was given three messages and has run the block
    def ran(topic = :orders, &block)
      consumer = consumer_of(topic, &block)
      3.times { |number| kit.produce(number.to_s) }
      consumer.consume
      consumer
    end

    def failure(matcher, consumer)
      refute matcher.matches?(consumer), "it matches"
      matcher.failure_message
    end

    def negated(matcher, consumer)
      assert matcher.matches?(consumer), "it doesn't match"
      matcher.failure_message_when_negated
    end

    test "a mark completes earlier messages, not later ones" do
      consumer = ran { mark_as_consumed(messages[1], "note") }

      [M::Marked.new(kit), M::Marked.new(kit, 0), M::Marked.new(kit, consumer.messages[1]), M::Marked.new(kit, metadata: /no/),
        M::Marked.new(kit, 1, metadata: "note"), M::Marked.new(kit, 1..2)].each { |matcher| assert matcher.matches?(consumer) }
      [M::Marked.new(kit, 2), M::Marked.new(kit, 0, metadata: "note"), M::Marked.new(kit, 2..)].each { |matcher|
        refute matcher.matches?(consumer)
      }
    end

    test "the failure of a mark shows what was marked" do
      consumer = ran { mark_as_consumed(messages[1], "note") && mark_as_consumed(messages[0]) }

      assert_equal "expected #{NAME} orders/0 to have marked offset 2, but it has marked:\n  offset 1 with metadata " \
        "\"note\"\n  offset 0",
        failure(M::Marked.new(kit, 2), consumer)
      assert_equal "expected #{NAME} orders/0 not to have marked a message with metadata /no/, but it has marked:\n  " \
        "offset 1 with " \
        "metadata \"note\"\n  offset 0", negated(M::Marked.new(kit, metadata: /no/), consumer)
    end

    test "the failure of a mark explains automatic offsets" do
      assert_equal "expected #{NAME} orders/0 to have marked a message, but it has marked nothing. (Its route has " \
        "automatic offsets: in " \
        "production everything that a call of consume was given counts as consumed when it returns, without a mark)",
        failure(M::Marked.new(kit), ran)
      assert_equal "expected #{NAME} with_dead_letters/0 to have marked offset 0, but it has marked nothing",
        failure(M::Marked.new(kit, 0), ran(:with_dead_letters))
    end

    test "a pause is compared by offset and timeout" do
      consumer = ran { pause(1, 5_000) && pause(:consecutive, Float::INFINITY) }
      consumer.pause(:consecutive, Float::INFINITY)

      [M::Paused.new(kit), M::Paused.new(kit, 1), M::Paused.new(kit, 1, timeout: 5_000), M::Paused.new(kit, timeout: 4_000..),
        M::Paused.new(kit, :consecutive, timeout: Float::INFINITY)].each { |matcher| assert matcher.matches?(consumer) }
      refute M::Paused.new(kit, 1, timeout: 6_000).matches?(consumer)
      assert_equal "expected #{NAME} orders/0 to have paused at 2 with timeout 6000, but it has paused:\n  at 1 for 5000 " \
        "ms\n  at " \
        ":consecutive for Infinity ms", failure(M::Paused.new(kit, 2, timeout: 6_000), consumer)
      assert_equal "expected #{NAME} orders/0 not to have paused at 1, but it has paused:\n  at 1 for 5000 ms\n  at " \
        ":consecutive for " \
        "Infinity ms", negated(M::Paused.new(kit, 1), consumer)
    end

    test "a timeout may be a duration" do
      duration = Object.new
      def duration.in_milliseconds = 5_000.0
      consumer = ran { pause(1, 5_000) }

      assert M::Paused.new(kit, timeout: duration).matches?(consumer)
    end

    test "the failure of a pause shows that there was none" do
      assert_equal "expected #{NAME} orders/0 to have paused, but it has paused nothing", failure(M::Paused.new(kit), ran)
    end

    test "a seek is compared by its target" do
      consumer = ran { seek(1) }

      assert M::Sought.new(kit).matches?(consumer)
      assert M::Sought.new(kit, consumer.messages[1]).matches?(consumer)
      assert_equal "expected #{NAME} orders/0 to have sought :earliest, but it has sought:\n  1",
        failure(M::Sought.new(kit, :earliest), consumer)
      assert_equal "expected #{NAME} orders/0 not to have sought 1, but it has sought:\n  1",
        negated(M::Sought.new(kit, 1), consumer)
      assert_equal "expected #{NAME} orders/0 to have sought, but it has sought nothing", failure(M::Sought.new(kit), ran)
    end

    test "dead letters are compared by offset, topic and reason" do
      consumer = ran(:with_dead_letters) { dispatch_to_dlq(messages[1], reason: ArgumentError.new("no \e total")) }

      [M::DeadLettered.new(kit), M::DeadLettered.new(kit, 1),
        M::DeadLettered.new(kit, consumer.messages[1], topic: :"orders.dead"),
        M::DeadLettered.new(kit, reason: ArgumentError), M::DeadLettered.new(kit, reason: /total/)].each { |matcher|
        assert matcher.matches?(consumer)
      }
      assert_equal "expected #{NAME} with_dead_letters/0 to have dead-lettered offset 0 with topic \"orders.dead\" and " \
        "reason IOError, but " \
        "it has dead-lettered:\n  offset 1 to orders.dead (ArgumentError: no \\e total)",
        failure(M::DeadLettered.new(kit, 0, topic: "orders.dead", reason: IOError), consumer)
      assert_equal "expected #{NAME} with_dead_letters/0 not to have dead-lettered a message, but it has dead-lettered:\n  " \
        "offset 1 to " \
        "orders.dead (ArgumentError: no \\e total)", negated(M::DeadLettered.new(kit), consumer)
    end

    test "the failure of a dead letter names a missing queue" do
      assert_equal "expected #{NAME} orders/0 to have dead-lettered a message, but it has dead-lettered nothing. Its route " \
        "has no " \
        "dead_letter_queue", failure(M::DeadLettered.new(kit), ran)
      consumer = ran(:with_dead_letters) { pipe_sync(topic: "other", message: messages[0]) }
      assert_equal "expected #{NAME} with_dead_letters/0 to have dead-lettered a message, but it has dead-lettered nothing",
        failure(M::DeadLettered.new(kit), consumer)
    end

    test "nothing is expected of a consumer that the example hasn't built" do
      error = assert_raises(ArgumentError) { M::Marked.new(kit).matches?(OtherConsumer.allocate) }
      assert_match(/\A#<.*OtherConsumer \/> wasn't built in this example: build it with penstock\.consumer_for\z/, error.message)
      refute_predicate M::Marked.new(kit), :supports_block_expectations?
    end
  end
end
