# frozen_string_literal: true

require "test_helper"
require_relative "admin_contract"

module Penstock
  class AdminOnRealBrokerTest < TestCase
    include AdminContract

    test "partitions are added and visible when the call returns" do
      with_topic(1) do |admin, name|
        admin.create_partitions(name, 4)

        assert_equal 4, admin.topic_info(name)[:partition_count]
        assert_equal :invalid_partitions, assert_raises(KafkaError) { admin.create_partitions(name, 2) }.code
      end
    end

    test "the broker's message about an invalid request reaches the caller" do
      admin do |admin|
        name = unique("bad")
        config = assert_raises(KafkaError) { admin.create_topic(name, partitions: 1, config: {"nonsense" => 1}) }
        replicas = assert_raises(KafkaError) { admin.create_topic(name, partitions: 1, replication_factor: 9) }

        assert_match(/Unknown topic config name: nonsense/, config.message)
        assert_equal :invalid_replication_factor, replicas.code
        assert_equal :topic_exception, assert_raises(KafkaError) { admin.create_topic("not valid!", partitions: 1) }.code
      end
    end

    test "a topic without numbers gets the broker's defaults" do
      admin do |admin|
        name = unique("default")
        admin.create_topic(name)

        assert_operator admin.topics.fetch(name), :>=, 1
        admin.delete_topic(name)
      end
    end

    test "[Group admin] groups are listed and described" do
      admin do |admin|
        assert_kind_of Array, admin.groups
        assert_equal "Dead", admin.group_info(unique("nobody"))[:state]
      end
    end

    # The mock cluster has no index of times: it returns "none" for each.
    test "[list_offsets] the first offset at or after a time is found" do
      with_topic(2) do |admin, name|
        times = produce(name, 3)

        assert_equal({name => {0 => 1}}, admin.offsets_for_times(name => {0 => times[1]}))
        assert_equal({name => {0 => 2}}, admin.offsets_for_times(name => {0 => Time.at(0, times[1] + 1, :millisecond)}))
      end
    end

    test "[list_offsets] the offset of the latest time can be requested" do
      with_topic(1) do |admin, name|
        times = produce(name, 3)
        row = admin.read_partition_offsets({name => [{partition: 0, offset: :max_timestamp}]}).first

        assert_equal [2, times.last], row.values_at(:offset, :timestamp)
      end
    end
  end
end
