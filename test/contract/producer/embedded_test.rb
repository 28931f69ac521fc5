# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require_relative "producer_contract"

module Penstock
  class ProducerOnEmbeddedBrokerTest < TestCase
    include ProducerContract
    extend TestSupport::EmbeddedBroker::OnePerClass

    def bootstrap_servers
      self.class.cluster.bootstrap_servers
    end

    test "an error of the broker is final and reported with all details" do
      sender = producer
      seen = events(sender, "error.occurred")
      name = topic
      sender.produce_sync(topic: name, payload: "x")
      self.class.cluster.inject_errors(:produce, [:topic_authorization_failed])
      error = assert_raises(ProduceError) { sender.produce_sync(topic: name, payload: "x", label: :mine) }

      assert_equal [:topic_authorization_failed, name], [error.code, error.topic]
      types = wait_until(10, "two errors") { (@all ||= []).concat(all(seen)).size >= 2 && @all }
      assert_equal %w[librdkafka.dispatch_error message.produce_sync], types.map { |event| event[:type] }.sort
      report = types.find { |event| event[:type] == "librdkafka.dispatch_error" }
      assert_equal [:mine, name], [report[:label], report[:topic]]
    ensure
      self.class.cluster.clear_errors(:produce)
    end

    test "a retriable error of the broker is retried without an error for the caller" do
      sender = producer(kafka: {"retry.backoff.ms": 10})
      self.class.cluster.inject_errors(:produce, %i[not_leader_for_partition request_timed_out])

      assert_predicate sender.produce_sync(topic: topic, payload: "x"), :delivered?
    ensure
      self.class.cluster.clear_errors(:produce)
    end

    test "a wait that times out reports unknown, and the message still arrives" do
      sender = producer do |config|
        config.max_wait_timeout = 200
        config.logger = Logger.new(File::NULL)
      end
      name = topic
      sender.produce_sync(topic: name, payload: "x")
      self.class.cluster.set_rtt(1_500)
      handle = sender.produce_async(topic: name, payload: "x")

      assert_raises(WaitTimeoutError) { handle.wait(timeout_ms: 50) }
      error = assert_raises(ProduceError) { sender.produce_sync(topic: name, payload: "x") }
      assert_instance_of WaitTimeoutError, error.cause
      assert_match(/within max_wait_timeout \(200 ms\).*unknown/, error.message)
      varied = assert_raises(ProduceError) { sender.with(max_wait_timeout: 300).produce_sync(topic: name, payload: "x") }
      assert_match(/within max_wait_timeout \(300 ms\)/, varied.message)
      assert_predicate handle.wait(timeout_ms: 20_000), :delivered?
    ensure
      self.class.cluster.set_rtt(0)
    end

    private

    # The mock cluster sets timestamps itself.
    def stamps?
      false
    end
  end
end
