# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require "support/real_broker"
require "penstock/admin"
require "penstock/cli/dead/letter"
require "penstock/messages/messages"
require "penstock/messages/memory_batch"
require_relative "oversized_contract"

module Penstock
  class OversizedOnEmbeddedBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker
    include OversizedContract

    OversizedContract.add_to(self)

    def kafka = {**super, "auto.commit.interval.ms": 200}
    def native = super.slice("bootstrap.servers")

    test "a letter that a broker refuses for its size is sent without its payload after two refusals on its own" do
      topic, dead, types = letters_topics, unique("dead"), queue
      create_topic(dead, 1)
      send_records(topic, [["bad", nil]])
      self.class.cluster.inject_errors(:produce, [:msg_size_too_large] * 3)
      running = consuming(topic, referring(dead)) { raise "no" }
      running.application.monitor.subscribe("error.occurred") { |event| types << event[:type] }

      assert_equal [["", "payload"]], letters(dead, 1).map { |one| [one.raw_payload, one.raw_headers["penstock_omitted"]] }
      assert_equal(%w[dead_letter_queue.dispatch.error] * 2 + %w[dead_letter_queue.oversized.error],
        all(types).select { |type| type.start_with?("dead_letter") })
    end

    test "a letter refused only together with others is sent unchanged" do
      topic, dead = letters_topics, unique("dead")
      create_topic(dead, 1)
      send_records(topic, [["bad", nil]])
      self.class.cluster.inject_errors(:produce, [:msg_size_too_large] * 2)
      consuming(topic, referring(dead)) { raise "no" }

      assert_equal [["bad", nil]], letters(dead, 1).map { |one| [one.raw_payload, one.raw_headers["penstock_omitted"]] }
    end
  end
end
