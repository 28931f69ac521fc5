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

    def assert_members(count)
      Admin.open(kafka) do |admin|
        wait_until(20, "#{count} members") { admin.group_info(group)[:members].size == count }
      end
    end

    def assert_once(got) = assert_equal(got.uniq.size, got.size, got.inspect)

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

    test "[multiplexing dynamic] connections go and come under KIP-848 too" do
      topic, seen, changes = numbered_topic(1), queue, queue
      recorder = recorder(seen)
      run_routes(listen: {"multiplexing.up" => changes, "multiplexing.down" => changes}, kafka: {"group.protocol": "consumer"}) do
        subscription_group(:many) do
          [multiplexing(min: 1, max: 2, boot: 2, scale_delay: 1_000), topic(topic) { consumer recorder }]
        end
      end
      assert_equal ["0"], take(seen, 1).map(&:last)
      assert_equal [1], take(changes, 1, 60).map { |event| event[:connections] }
      add_partitions(topic, 2)

      assert_equal [2], take(changes, 1, 60).map { |event| event[:connections] }
      await_shares(1, 1)
    end
  end
end
