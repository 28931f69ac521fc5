# frozen_string_literal: true

require "test_helper"
require "support/consuming"
require "support/embedded_broker"
require "support/real_broker"

module Penstock
  # Brokers that refuse `group.protocol: consumer`, as they do where it is switched off.
  class GroupProtocolRefusedTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include TestSupport::EmbeddedBroker

    def kafka = self.class.cluster.kafka(group_protocol: :consumer)
    def refuse(count) = self.class.cluster.inject_errors(:consumer_group_heartbeat, [:unsupported_version] * count)

    test "the process stops with code 1, and the error names the setting, the version and the way out" do
      topic = topic_with(1)
      refuse(100)
      running = consuming(topic) { nil }
      assert_equal 1, running.code
      critical = all(running.errors).find { |event| event[:type] == "app.critical.error" }
      assert_kind_of ConfigurationError, critical[:error]
      assert_match(/group.protocol: consumer .*switched off.*\(Kafka 4.0 or newer\). Remove group.protocol/,
        critical[:error].message)
    ensure
      self.class.cluster.clear_errors(:consumer_group_heartbeat)
    end

    test "a group that has worked is opened again once, and no record is lost" do
      topic, seen = topic_with(3), queue
      running = consuming(topic) { messages.each { |message| seen << message.offset } }
      assert_equal [0, 1, 2], take(seen, 3)
      refuse(1)
      wait_until(20, "the connection's end") { all(running.errors).any? { |event| event[:type].include?("fetch_loop") } }
      produce(topic, %w[3 4])
      wait_until(20, "the new records") { (@later ||= []).concat(all(seen)).max == 4 }

      assert_empty [3, 4] - @later
      assert_equal 0, running.stop
      assert_equal 5, committed(topic)
    end
  end
end
