# frozen_string_literal: true

require "test_helper"
require "support/kit_examples"

module Penstock
  class KitMemoryClientTest < TestCase
    include TestSupport::KitExamples

    test "handles and reports have topic, partition, offset and label; offsets count up by partition" do
      reports = [{}, {partition: 3}, {}, {topic: "b", label: 7}].map { |more|
        producer.produce_sync(topic: "a", payload: "", **more)
      }

      assert_equal [["a", 0, 0, nil], ["a", 3, 0, nil], ["a", 0, 1, nil], ["b", 0, 0, 7]],
        reports.map { |report| [report.topic, report.partition, report.offset, report.label] }
      assert_equal true, producer.produce_async(topic: "a", payload: "", handle: false)
    end

    test "a message is kept as it was given, with a method for each value" do
      producer.produce_async(topic: :a, payload: "1", key: "k", headers: {"h" => "v"}, partition: 2, label: 7)
      producer.produce_many_sync([{topic: "b", payload: nil, key: "x"}])
      first, last = kit.produced_messages

      assert_equal({topic: "a", payload: "1", key: "k", headers: {"h" => "v"}, partition: 2, label: 7}, first)
      assert_equal ["a", "1", "k", {"h" => "v"}, 2, 0, 7],
        [first.topic, first.payload, first.key, first.headers, first.partition, first.offset, first.label]
      assert_equal({topic: "b", payload: nil, key: "x"}, last)
      assert_equal [0, {}, nil, :key], [last.partition, last.headers, last.timestamp, last.key("x")]
    end

    test "messages sent by a variant with topic properties of its own have their topic's name" do
      producer.with(topic_config: {"compression.codec": "gzip"}).produce_sync(topic: "a", payload: "1")

      assert_equal %w[a], kit.produced_messages.map(&:topic)
    end

    test "buffered messages arrive when they are flushed" do
      producer.buffer({topic: "a", payload: "1"})
      assert_empty kit.produced_messages
      producer.flush_sync

      assert_equal 1, kit.produced_messages.size
    end

    test "messages of a transaction arrive with its commit, and never after an abort" do
      @penstock_application = application("transactional.id": "t")
      consumer = consumer_of
      producer.transaction do
        producer.produce_async(topic: "orders", payload: "1")
        assert_empty kit.produced_messages
      end
      producer.transaction { producer.produce_async(topic: "orders", payload: "2") && raise(AbortTransaction) }
      assert_raises(ArgumentError) {
        producer.transaction {
          producer.produce_sync(topic: "orders", payload: "3") && raise(ArgumentError)
        }
      }

      assert_equal %w[1], kit.produced_messages.map(&:payload)
      assert_equal %w[1], consumer.messages.map(&:raw_payload)
    end

    test "a topic has the partitions that its route declares, others have one" do
      @penstock_application = application(proc do
        topic(:orders) do
          consumer BlockConsumer
          config(partitions: 5)
        end
      end)
      kit.consumer_for(:orders)

      assert_equal [5, 1], [producer.partition_count("orders"), producer.partition_count("other")]
      report = producer.produce_sync(topic: "other", payload: "", partition_key: "x")
      assert_equal 0, report.partition
    end

    test "delayed messages are kept in the topic where they wait" do
      @penstock_application = application(proc do
        delay_topics
        topic(:orders) { consumer BlockConsumer }
      end)
      kit.consumer_for(:orders)
      penstock_application.delays.schedule({topic: "orders", payload: "1"}, at: Time.now + 60)

      refute_equal "orders", kit.produced_messages.first.topic
      assert_equal "1", kit.produced_messages.first.payload
    end
  end
end
