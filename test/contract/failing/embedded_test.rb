# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require "penstock/admin"
require_relative "failing_contract"

module Penstock
  class FailingOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker
    include FailingContract

    FailingContract.add_to(self)

    def kafka = {**super, "auto.commit.interval.ms": 200}
    def native = super.slice("bootstrap.servers")

    test "the source's offset never moves before the dead letter is acknowledged, and user code doesn't run again for it" do
      topic, dead, seen = letters_topics, unique("dead"), queue
      create_topic(dead, 1)
      send_records(topic, [["bad", nil], ["good", nil]])
      self.class.cluster.inject_errors(:produce, [:topic_authorization_failed] * 2)
      running = consuming(topic, ->(_) { dead_letter_queue(topic: dead, max_retries: 0) }) do
        messages.each do |message|
          seen << message.offset
          raise "no" if message.offset.zero?
        end
      end
      2.times { wait_until(10, "a failed dispatch") { dispatch_failed?(running) } }
      assert_nil committed_offset(topic)

      assert_equal ["bad"], letters(dead, 1).map(&:raw_payload)
      await_committed(topic, 2)
      assert_equal 1, all(seen).count(0)
    end

    private

    def dispatch_failed?(running)
      !running.errors.empty? && running.errors.pop[:type] == "dead_letter_queue.dispatch.error"
    end

    # Nothing yet is below zero.
    def committed_offset(topic)
      offset = committed(topic)
      (offset.negative? || offset.zero?) ? nil : offset
    end
  end
end
