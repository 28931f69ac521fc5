# frozen_string_literal: true

require "penstock"
require_relative "../../support/shared_tests"

module Penstock
  # The same applications, the same consumers, the same assertions: on the in-memory Kafka of the testing kit, on the embedded
  # broker and on a real one. The class that includes it defines `topic(name)`, `consume(payloads, until_seen) { routes }`,
  # `again(until_seen)`, which ends the process without marks and starts another, and `committed_of(topic)`.
  module WholeApplicationContract
    extend TestSupport::SharedTests

    # @return [Class] a consumer whose `consume` is the block
    def consumer_class(&body) = Class.new(BaseConsumer) { define_method(:consume, &body) }

    test "[same consumer] a record that fails is retried and dead-lettered, and those after it are consumed" do
      seen = Thread::Queue.new
      letters = Thread::Queue.new
      failing = consumer_class do
        each do |message|
          seen << [message.raw_payload, attempt]
          raise "never" if message.raw_payload == "bad"
        end
      end
      collecting = consumer_class { each { |message| letters << [message.raw_payload, message.headers["source_offset"]] } }
      orders, dead = topic("orders"), topic("dead")
      consume(orders, %w[good bad later], -> { letters.size == 1 && seen.size == 5 }) do
        topic(orders) do
          consumer failing
          max_messages 1
          dead_letter_queue topic: dead, max_retries: 2
        end
        topic(dead) { consumer collecting }
      end
      assert_equal [["good", 1], ["bad", 1], ["bad", 2], ["bad", 3], ["later", 1]], Array.new(5) { seen.pop }
      assert_equal "bad", letters.pop.first
      assert_equal 3, committed_of(orders)
    end

    test "[same consumer] what a consumer produces is consumed by the next route" do
      arrived = Thread::Queue.new
      orders, invoices = topic("orders"), topic("invoices")
      forwarding = consumer_class do
        each { |message| producer.produce_sync(topic: invoices, payload: "for #{message.raw_payload}", key: "k") }
      end
      collecting = consumer_class { each { |message| arrived << [message.raw_payload, message.raw_key] } }
      consume(orders, %w[1 2 3], -> { arrived.size == 3 }) do
        topic(orders) { consumer forwarding }
        topic(invoices) { consumer collecting }
      end
      assert_equal [["for 1", "k"], ["for 2", "k"], ["for 3", "k"]], Array.new(3) { arrived.pop }
    end

    test "[same consumer] with manual offsets, what wasn't marked is consumed again by the next process" do
      seen = Thread::Queue.new
      marking = consumer_class do
        each { |message| seen << message.raw_payload }
        mark_as_consumed!(messages.first) if messages.first.offset.zero?
      end
      orders = topic("orders")
      consume(orders, %w[marked open], -> { seen.size == 2 }) do
        topic(orders) do
          consumer marking
          manual_offset_management true
        end
      end
      assert_equal %w[marked open], Array.new(2) { seen.pop }
      again(-> { seen.size == 1 })
      assert_equal "open", seen.pop
      assert_equal 1, committed_of(orders)
    end
  end
end
