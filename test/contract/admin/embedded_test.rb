# frozen_string_literal: true

require "test_helper"
require "support/embedded_broker"
require_relative "admin_contract"

module Penstock
  class AdminOnEmbeddedBrokerTest < TestCase
    include AdminContract
    extend TestSupport::EmbeddedBroker::OnePerClass

    test "partitions can't be added there, and the error explains what to do" do
      with_topic(1) do |admin, name|
        error = assert_raises(KafkaError) { admin.create_partitions(name, 2) }

        assert_equal :unsupported_feature, error.code
        assert_match(/create the topic with enough/, error.message)
      end
    end

    test "settings of topics can't be read there" do
      with_topic(1) do |admin, name|
        assert_equal :unsupported_feature, assert_raises(KafkaError) { admin.topic_configs([name]) }.code
      end
    end

    test "a topic without a number of partitions gets four" do
      admin do |admin|
        name = unique("four")
        admin.create_topic(name)

        assert_equal 4, admin.topics.fetch(name)
      end
    end

    test "an outage is reported with its cause, not as a timeout" do
      self.class.cluster.broker_down
      error = Admin.open({"bootstrap.servers": bootstrap_servers}, timeout_ms: 500) do |admin|
        assert_raises(KafkaError) { admin.topics }
      end

      assert_equal :transport, error.code
      assert_match(/Connection refused/, error.message)
    ensure
      self.class.cluster.broker_up
    end

    test "a request during a coordinator's move is retried within the time limit" do
      with_topic(1) do |admin, name|
        self.class.cluster.inject_errors(:offset_fetch, %i[not_coordinator coordinator_load_in_progress])

        assert_equal [[0, nil]], admin.group_lag(unique("group"), [name]).map { |row| row.values_at(:partition, :committed) }
      ensure
        self.class.cluster.clear_errors(:offset_fetch)
      end
    end

    private

    def bootstrap_servers
      self.class.cluster.bootstrap_servers
    end
  end
end
