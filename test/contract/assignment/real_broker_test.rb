# frozen_string_literal: true

require "test_helper"
require "support/real_broker"
require "penstock/admin"
require_relative "assignment_contract"

module Penstock
  class AssignmentOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include AssignmentContract

    AssignmentContract.add_to(self)

    def kafka = {"bootstrap.servers": bootstrap_servers}

    def add_partitions(name, total)
      Admin.open(kafka) { |admin| admin.create_partitions(name, total) }
    end

    test "a partition that assign names is read as soon as it exists" do
      topic, seen = numbered_topic(1), queue
      recorder = recorder(seen)
      run_routes { topic(topic) { [consumer(recorder), assign(0, 1)] } }
      assert_equal [[0, "0"]], take(seen, 1)
      add_partitions(topic, 2)
      produce(topic, ["late"], partition: 1)

      assert_equal [[1, "late"]], take(seen, 1)
    end

    test "with assign true partitions that are added later are read from their beginning" do
      topic, seen = numbered_topic(1), queue
      recorder = recorder(seen)
      run_routes(kafka: {"topic.metadata.refresh.interval.ms": 300, "auto.commit.interval.ms": 100}) do
        topic(topic) { [consumer(recorder), assign(true)] }
      end
      assert_equal [[0, "0"]], take(seen, 1)
      add_partitions(topic, 2)
      produce(topic, ["early"], partition: 1)

      assert_equal [[1, "early"]], take(seen, 1, 40)
    end
  end
end
