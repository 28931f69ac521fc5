# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require_relative "consuming_contract"

module Penstock
  class ConsumingOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming

    ConsumingContract.add_to(self)

    # Features that only it supports: look-ups by time, the new group protocol, its own limits.
    def kafka = {"bootstrap.servers": bootstrap_servers}

    test "[seek offset/Time] a time means the offset of the first record at or after it" do
      topic, seen = topic_with(3), queue
      observe_for(0.02)
      boundary = Time.now
      produce(topic, %w[late])
      consuming(topic) do
        seen << messages.first.offset
        seek(boundary) if messages.first.offset.zero?
      end

      assert_equal [0, 3], take(seen, 2)
    end

    test "[KIP-848] the new group protocol consumes like the classic one" do
      topic, seen = topic_with(20), queue
      first = consuming(topic, kafka: {"group.protocol": "consumer"}) { messages.each { |message| seen << message.offset } }

      assert_equal (0...20).to_a, take(seen, 20)
      assert_equal 0, first.stop
      assert_equal 20, committed(topic)
    end

    test "[KIP-848] a group changes from one protocol to the other without losing its offsets" do
      topic, seen = topic_with(5), queue
      consuming(topic) { messages.each { |message| seen << message.offset } }.tap { take(seen, 5) }.stop
      produce(topic, %w[more])
      consuming(topic, kafka: {"group.protocol": "consumer"}) { messages.each { |message| seen << message.offset } }

      assert_equal [5], take(seen, 1)
    end
  end
end
