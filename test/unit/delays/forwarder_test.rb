# frozen_string_literal: true

require "test_helper"
require "penstock"
require "support/virtual_clock"
require "penstock/delays/forwarder"
require "penstock/delays/hop_clock"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/routing/delay_tiers"

module Penstock
  class ForwarderTest < TestCase
    TIERS = Routing::DelayTiers.new("shop", Routing::DelayTiers::DELAYS)

    # A producer whose answers a test decides, by target: an error, :silent, or nil for delivered.
    class FakeProducer
      Handle = Struct.new(:message, :error) do
        def done? = error != :silent
        def create_result = (self if done?)
      end

      attr_reader :calls, :missing, :fates

      def initialize
        @calls = []
        @missing = []
        @fates = {}
      end

      def with(**) = self
      def missing?(topic) = @missing.include?(topic)
      def topics = @calls.map { |messages| messages.map { |message| message[:topic] } }

      def produce_many_sync(messages)
        @calls << messages
        fates = messages.map { |message| @fates[message[:topic]] }
        if (invalid = fates.grep(MessageInvalidError).first)
          raise invalid
        end
        accepted = fates.index(:refuses) || messages.size
        handles = messages.first(accepted).zip(fates).map { |message, fate| Handle.new(message, fate) }
        raise ProduceManyError.new("no", dispatched: handles), cause: KafkaError.new(code: :queue_full) unless
          handles.size == messages.size && handles.all? { |handle| handle.done? && handle.error.nil? }
        handles
      end

      def produce_sync(message)
        produce_many_sync([message]).first
      rescue ProduceManyError => error
        raise ProduceError.new("no", code: error.dispatched.first&.error.then { |one| one.code if one.is_a?(KafkaError) })
      end
    end

    def setup
      super
      @clock = VirtualClock.new
      @producer = FakeProducer.new
      @forwarder = Delays::Forwarder.new(TIERS, Delays::HopClock.new(@clock, CautiousClock.start(@clock)))
      @letters = []
    end

    test "what is due goes to its target, the rest to the tier that fits, all in one call; headers for the way are removed" do
      forward([waiting("a", 0, key: "k", partition: 3, headers: {"x" => "1"}), waiting("b", 45_000), waiting("c", -5_000)])
      arrived, moved, other = @producer.calls.fetch(0)

      assert_equal [["a", "shop.delay.3", "c"]], @producer.topics
      assert_equal ["k", 3, %w[penstock_delay_id penstock_delay_until x]],
        [arrived[:key], arrived[:partition], arrived[:headers].keys.sort]
      assert_equal ["b", (@clock.wall_ms + 30_000).to_s], moved[:headers].values_at("penstock_delay_topic", "penstock_due_at")
      refute other.key?(:key)
      assert_equal [2, nil, {arrived: 2, moved: 1}], result
    end

    test "while the clock is ahead for a moment, a record leaves its next topic when it would have without that" do
      record = waiting("a", 45_000)
      due = @clock.wall_ms + 30_000
      @clock.jump_wall(3_600_000)
      forward([record])
      assert_equal ["shop.delay.3", due.to_s],
        @producer.calls.fetch(0).first.then { |moved| [moved[:topic], moved[:headers]["penstock_due_at"]] }
    end

    test "a record without an acknowledgement holds those after it; the next call produces nothing a second time" do
      @producer.fates["b"] = :silent
      forward(records = [waiting("a", 0), waiting("b", 0), waiting("c", 0)])
      assert_equal 0, result.first
      assert_match(/not acknowledged the message for b/, result[1].message)

      forward(records)
      assert_equal [%w[a b c]], @producer.topics
      handle_of("b").error = nil
      forward(records)
      assert_equal [2, nil], result.first(2)
      assert_equal 1, @producer.calls.size
    end

    test "a message that was not delivered is produced again, and only that one" do
      @producer.fates["b"] = KafkaError.new(code: :msg_timed_out)
      forward(records = [waiting("a", 0), waiting("b", 0), waiting("c", 0)])
      assert_equal [0, :msg_timed_out], [result[0], result[1].code]

      @producer.fates.clear
      forward(records)
      assert_equal [%w[a b c], %w[b]], @producer.topics
      assert_equal 2, result.first
    end

    test "what the client accepted before it refused the next message isn't produced again" do
      @producer.fates["b"] = :refuses
      forward(records = [waiting("a", 0), waiting("b", 0), waiting("c", 0)])
      assert_equal [0, :queue_full], [result[0], result[1].code]

      @producer.fates.clear
      forward(records)
      assert_equal [%w[a b c], %w[b c]], @producer.topics
    end

    test "a message whose target refuses it is set back for 30 s, with the others delivered; after 20 times it is dead-lettered" do
      %i[unknown_topic_or_part topic_authorization_failed unknown_partition].each do |code|
        @producer.fates["b"] = KafkaError.new(code: code)
        forward([waiting("a", 0), waiting("b", 0), waiting("c", 0)], complete: true)

        assert_equal [2, nil, {arrived: 2, set_back: 1}], result
        back = @producer.calls.last.first
        assert_equal ["shop.delay.3", "1"], [back[:topic], back[:headers]["penstock_delay_failures"]]
        assert_equal (@clock.wall_ms + 30_000).to_s, back[:headers]["penstock_due_at"]
      end
      forward([waiting("b", 0, failures: 20)])
      assert_match(/b doesn't take the delayed message/, @letters.fetch(0).last.message)
      assert_equal [0, nil, {dead_lettered: 1}], result
    end

    test "a missing target isn't produced to: the client would keep the message, and the offset would wait for it" do
      @producer.missing << "b"
      forward([waiting("a", 0), waiting("b", 0)])

      assert_equal [%w[a], %w[shop.delay.3]], @producer.topics
      assert_equal [1, nil, {arrived: 1, set_back: 1}], result
    end

    test "an outage sets nothing back: what can't be set back waits, and its target is tried again" do
      @producer.missing << "b"
      @producer.fates["shop.delay.3"] = KafkaError.new(code: :msg_timed_out)
      forward(records = [waiting("b", 0)])
      assert_equal [nil, :msg_timed_out], [result[0], result[1].code]

      @producer.missing.clear
      forward(records)
      assert_equal "b", @producer.topics.last.first
      assert_equal [0, nil, {arrived: 1}], result
    end

    test "a broker that refuses a batch for its size: each is tried alone, and only the large one is set back" do
      sizes = KafkaError.new(code: :msg_size_too_large)
      alone = @producer.method(:produce_many_sync)
      @producer.define_singleton_method(:produce_many_sync) do |messages|
        @fates = (messages.size > 1) ? {"a" => sizes, "b" => sizes} : {"b" => sizes}
        alone.call(messages)
      end
      forward([waiting("a", 0), waiting("b", 0)])

      assert_equal [%w[a b], %w[a], %w[b], %w[shop.delay.3]], @producer.topics
      assert_equal [1, nil, {arrived: 1, set_back: 1}], result
    end

    test "a message that no topic takes is dead-lettered, also on its way to the next tier" do
      large = KafkaError.new(code: :msg_size_too_large)
      @producer.fates.merge!("b" => large, "shop.delay.3" => large)
      forward([waiting("b", 0), waiting("a", 40_000)])

      assert_equal ["b doesn't", "shop.delay.3 doesn't"], @letters.map { |_message, reason| reason.message[/\A\S+ doesn't/] }
      assert_equal [1, nil, {dead_lettered: 2}], result
    end

    test "a tier that doesn't exist is no refusal: the record waits for it" do
      @producer.fates["shop.delay.3"] = KafkaError.new(code: :unknown_topic_or_part)
      forward([waiting("a", 40_000)])

      assert_equal [nil, :unknown_topic_or_part, []], [result[0], result[1].code, @letters]
    end

    test "an invalid message holds no other: they are produced one by one" do
      @producer.fates["b"] = MessageTooLargeError.new("too large")
      forward([waiting("a", 0), waiting("b", 0), waiting("c", 0)])

      assert_equal [2, nil, {arrived: 2, set_back: 1}], result
    end

    test "damaged records are dead-lettered, once, and hold nothing; a letter that isn't acknowledged is tried again" do
      fine = waiting("a", 0)
      target = {"penstock_delay_topic" => "a"}
      bad = [{}, target, {**target, "penstock_delay_until" => "soon"}, {**target, "penstock_delay_until" => "-1"},
        {"penstock_delay_topic" => "no topic", "penstock_delay_until" => "1"}]
      refused = ProduceError.new("down")
      records = [fine, *bad.map { |headers| {payload: "x", headers: headers} }]
      forward(records) { raise refused }
      assert_equal [0, refused], result.first(2)

      forward(records)
      assert_equal 5, @letters.size
      assert_equal [%w[a]], @producer.topics
      assert_equal [5, nil], result.first(2)
    end

    test "records that are complete are forgotten; another record at the same offset is another one" do
      forward([waiting("a", 0)], complete: true)
      forward([waiting("b", 0)])

      assert_equal [%w[a], %w[b]], @producer.topics
      @producer.fates["c"] = :silent
      forward([waiting("c", 0)], first: 1)
      forward([waiting("d", 0)], first: 1)
      assert_equal %w[d], @producer.topics.last, "the log was written again"
    end

    private

    attr_reader :result

    # The record that a delay topic has for a message that is due in that time.
    def waiting(topic, left_ms, failures: 0, **more)
      message = {topic: topic, payload: topic, **more}
      delayed = Delays::DelayedMessage.new(message, @clock.wall_ms + left_ms, "id #{topic}", failures)
      delayed.waiting(left_ms, TIERS, @clock.wall_ms)
    end

    def forward(messages, first: 0, complete: false, &fail)
      rows = messages.each_with_index.map do |message, index|
        Messages::MemoryBatch::Row.new(offset: first + index, payload: message[:payload], headers: message[:headers],
          timestamp: 5)
      end
      last, reason = @forwarder.forward(Messages.new(Messages::MemoryBatch.new("shop.delay.1", 0, rows)),
        @producer) do |message, why|
        fail&.call
        @letters << [message, why]
      end
      @result = [last&.offset, reason, @forwarder.counts]
      @forwarder.complete(last) if complete
    end

    def handle_of(topic)
      sent = @forwarder.instance_variable_get(:@sent).each_value.find { |one| one.to == topic }
      sent.handle
    end
  end
end
