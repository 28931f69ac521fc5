# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/testing/buffered_client"

module Penstock
  class BufferedClientTest < TestCase
    def producer(**kafka)
      @producer ||= Producer.new do |config|
        config.kafka = {"bootstrap.servers": "127.0.0.1:1", **kafka}
        config.client_class = Testing::BufferedClient
      end
    end

    test "[Dummy/Buffered] offsets start at 0 for each topic and partition, also if nothing is kept" do
      dry = Producer.new do |config|
        config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
        config.deliver = false
      end
      [producer, dry].each do |each|
        sent = [{}, {partition: 3}, {}, {topic: "b"}].map { |parts| each.produce_sync(topic: "a", payload: "x", **parts) }
        assert_equal [["a", 0, 0], ["a", 3, 0], ["a", 0, 1], ["b", 0, 0]], sent.map { |report|
          [report.topic, report.partition, report.offset]
        }
        each.close
      end
    end

    test "[Dummy/Buffered] sent messages are kept unchanged until a reset" do
      producer.produce_async(topic: :a, payload: "1", key: "k", headers: {"h" => "v"}, label: 7)
      producer.produce_many_sync([{topic: "b", payload: "2"}])
      client = producer.client

      assert_equal [{topic: "a", payload: "1", key: "k", headers: {"h" => "v"}, label: 7}], client.messages_for(:a)
      assert_equal %w[1 2], client.messages.map { |message| message[:payload] }
      client.reset
      assert_empty client.messages
      assert_equal 1, producer.produce_sync(topic: "b", payload: "3").offset
    end

    test "[Dummy/Buffered] messages of a transaction are visible after its commit, and never after an abort" do
      client = producer("transactional.id": "t").client
      producer.transaction do |transaction|
        transaction.produce_async(topic: "a", payload: "1")
        assert_empty client.messages
      end
      producer.transaction { |transaction| transaction.produce_async(topic: "a", payload: "2") && transaction.abort }

      assert_equal %w[1], client.messages.map { |message| message[:payload] }
    end
  end
end
