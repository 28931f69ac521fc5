# frozen_string_literal: true

require "test_helper"
require "support/cluster_case"
require "penstock/admin"
require "penstock/native/group_metadata"
require "penstock/producer"

module Penstock
  # A request to add offsets to a transaction that reaches the group's coordinator after the transaction was aborted.
  class LateOffsetsTest < TestCase
    include TestSupport::ClusterCase

    LATE_MS = 6_000

    def setup
      super
      @topic = cluster.create_topic("late-#{rand(1 << 40)}", partitions: 2)
      @group = Native::GroupMetadata.for_group("#{@topic}-group")
      @replaced = Queue.new
      @producer = Producer.new do |config|
        config.kafka = {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": @topic, "client.id": "late",
                        "socket.timeout.ms": 2_000}
        config.max_wait_timeout = 2_000
        config.logger = Logger.new(nil)
      end
      @producer.monitor.subscribe("producer.reload") { |event| @replaced << event[:error].message }
    end

    def teardown
      @producer&.close
      cluster.proxy.clear
      super
    end

    def copy(partition, offset)
      @producer.transaction do
        @producer.produce_sync(topic: @topic, partition: partition, payload: "x")
        @producer.send_offsets([[@topic, partition, offset, nil]], @group)
        yield if block_given?
      end
    end

    # @return [Hash{Integer => Integer}] committed offsets by partition
    def committed
      groups = {"#{@topic}-group" => [@topic]}
      Admin.open({"bootstrap.servers": cluster.direct_servers}) { |admin| admin.read_lags_with_offsets(groups) }
        .fetch("#{@topic}-group").fetch(@topic).transform_values { |row| row[:offset] }
    end

    # After other tests the coordinator may still be loading.
    def copied?(partition, offset)
      copy(partition, offset)
      true
    rescue RetriableError
      false
    end

    test "offsets of an aborted transaction don't become a part of the next one" do
      wait_until(60, "a first transaction") { copied?(0, 10) }
      rule = cluster.proxy.delay(LATE_MS, api: :txn_offset_commit, side: :request, client: "late", times: 1)
      began = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      error = assert_raises(RetriableError) { copy(0, 20) }
      assert_equal [:timed_out, 1], [error.code, cluster.proxy.hits(rule)]

      copy(1, 30) do
        wait_until(20, "the late request") { ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) > began + (LATE_MS / 1_000.0) + 1 }
      end
      # The group's coordinator learns of the commit after the producer.
      wait_until(20, "the offset of the second transaction") { committed[1] == 30 }
      assert_equal({0 => 10, 1 => 30}, committed)
      assert_match(/a request for offsets of the last transaction has no answer/, @replaced.pop(true))
    end
  end
end
