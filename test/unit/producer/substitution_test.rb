# frozen_string_literal: true

require "test_helper"
require "penstock/producer"
require "penstock/testing/buffered_client"

module Penstock
  class ProducerSubstitutionTest < TestCase
    def setup
      super
      @substitute = Testing::BufferedClient.new
    end

    def producer(**kafka)
      Producer.new do |config|
        config.kafka = {"bootstrap.servers": "127.0.0.1:1", **kafka}
        config.client_class = Testing::BufferedClient
      end
    end

    def payloads(client) = client.messages.map { |message| message[:payload] }

    test "a substitute gets every message, those of variants too, until the producer's own client is put back" do
      one = producer
      variant = one.with(max_wait_timeout: 1_000)
      own = one.client
      one.produce_sync(topic: "a", payload: "before")
      assert one.substitute(@substitute)
      one.produce_async(topic: "a", payload: "1")
      variant.produce_sync(topic: "a", payload: "2")
      one.restore
      one.produce_sync(topic: "a", payload: "after")

      assert_equal %w[1 2], payloads(@substitute)
      assert_equal %w[before after], payloads(own)
      assert_same own, one.client
    end

    test "a producer that wasn't connected isn't connected afterwards" do
      one = producer
      one.substitute(@substitute)
      one.produce_sync(topic: "a", payload: "1")
      one.restore

      assert_predicate one.status, :configured?
    end

    test "a substitute that was disconnected or closed is used again, and the producer is open afterwards" do
      one = producer
      own = one.client
      one.substitute(@substitute)
      one.produce_sync(topic: "a", payload: "1")
      assert one.disconnect
      one.produce_sync(topic: "a", payload: "2")
      one.close
      assert_raises(ProducerClosedError) { one.produce_sync(topic: "a", payload: "3") }
      one.restore

      assert_equal %w[1 2], payloads(@substitute)
      assert_same own, one.client
      one.close
    end

    test "a closed producer works while it has a substitute, and is closed afterwards" do
      one = producer
      one.close
      one.substitute(@substitute)
      one.produce_sync(topic: "a", payload: "1")
      one.restore

      assert_equal %w[1], payloads(@substitute)
      assert_predicate one, :closed?
    end

    test "a second substitute isn't used" do
      one = producer
      one.substitute(@substitute)

      refute one.substitute(Testing::BufferedClient.new)
      assert_same @substitute, one.client
      one.restore
    end

    test "each client is initialized for transactions once, also when it comes back" do
      initialized = Class.new(Testing::BufferedClient) do
        attr_reader :times
        def init_transactions(_timeout_ms) = @times = @times.to_i + 1
      end
      one = Producer.new do |config|
        config.kafka = {"bootstrap.servers": "127.0.0.1:1", "transactional.id": "t"}
        config.client_class = initialized
      end
      2.times { one.produce_sync(topic: "a", payload: "own") }
      one.substitute(@substitute)
      one.produce_sync(topic: "a", payload: "1")
      one.restore
      one.produce_sync(topic: "a", payload: "own")

      assert_equal 1, one.client.times
      assert_equal %w[1], payloads(@substitute)
    end

    test "a producer that isn't set up has no substitute" do
      assert_raises(ConfigurationError) { Producer.new.substitute(@substitute) }
    end
  end
end
