# frozen_string_literal: true

require "test_helper"
require "penstock"
require "support/virtual_clock"
require "penstock/delays/consumer"
require "penstock/delays/delayed_message"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require "penstock/routing/delay_tiers"

module Penstock
  class DelaysConsumerTest < TestCase
    TIERS = Routing::DelayTiers.new("shop", Routing::DelayTiers::DELAYS)
    Context = Struct.new(:loop_client)
    Topic = Struct.new(:features)

    # The process as the consumer sees it.
    LoopClient = Struct.new(:clock, :cautious_clock) do
      def instrument(*) = nil
    end

    # A producer that delivers everything.
    class Producer
      Handle = Struct.new(:error) do
        def done? = true
        def create_result = self
      end

      attr_reader :topics

      def with(**) = self
      def missing?(_topic) = false

      def produce_many_sync(messages)
        @topics = messages.map { |message| message[:topic] }
        messages.map { Handle.new(nil) }
      end
    end

    # Consumes one record.
    # @return [String] the topic to which it was moved
    def moved_to(message, client)
      row = Messages::MemoryBatch::Row.new(offset: 0, payload: "p", headers: message[:headers], timestamp: 5)
      producer = Producer.new
      given = {topic: Topic.new({delay_tier: TIERS.tier(3)}), producer: producer, mark_as_consumed: true,
               messages: Messages.new(Messages::MemoryBatch.new(TIERS.name(3), 0, [row]))}
      consumer = Delays::Consumer.new
      consumer.instance_variable_set(:@penstock_context, Context.new(client))
      given.each { |name, value| consumer.define_singleton_method(name) { |*| value } }
      consumer.consume
      producer.topics.first
    end

    test "the first record isn't delivered early either when the clock jumped before it came" do
      clock = VirtualClock.new
      client = LoopClient.new(clock, CautiousClock.start(clock))
      message = Delays::DelayedMessage.new_for({topic: "mails", payload: "p"}, clock.wall_ms + 600_000)
        .waiting(30_000, TIERS, clock.wall_ms)
      clock.jump_wall(3_600_000)
      assert_equal TIERS.name(3), moved_to(message, client)
      clock.jump_wall(-3_600_000).advance(600_000)
      assert_equal "mails", moved_to(message, client)
    end
  end
end
