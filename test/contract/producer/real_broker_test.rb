# frozen_string_literal: true

require "test_helper"
require_relative "producer_contract"

module Penstock
  class ProducerOnRealBrokerTest < TestCase
    include ProducerContract

    test "the broker permanently refuses a message larger than the topic allows" do
      sender = producer(kafka: {"message.max.bytes": 5_000_000}) { |config| config.max_payload_size = 5_000_000 }
      error = assert_raises(ProduceError) { sender.produce_sync(topic: topic, payload: Random.bytes(2_000_000)) }

      assert_equal :msg_size_too_large, error.code
    end

    test "an idempotent producer delivers in order" do
      sender = producer(kafka: {"enable.idempotence": true})
      offsets = sender.produce_many_sync(Array.new(500) { {topic: topic, payload: "x", partition: 0} }).map(&:offset)

      assert_equal offsets.sort, offsets
      assert_equal 500, offsets.uniq.size
    end

    test "a topic that clients must not write to ends with the broker's error" do
      sender = producer(kafka: {"message.timeout.ms": 5_000})
      error = assert_raises(ProduceError) { sender.produce_sync(topic: "__consumer_offsets", payload: "x", partition: 0) }

      assert_equal :topic_exception, error.code
    end
  end
end
