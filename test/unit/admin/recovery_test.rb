# frozen_string_literal: true

require "test_helper"
require "penstock/admin"
require "penstock/messages/memory_batch"

module Penstock
  # Commits from the records of __consumer_offsets.
  class AdminRecoveryTest < TestCase
    LEADERS = {0 => 1, 1 => 2, 2 => 1, 3 => -1}.freeze

    def text(string) = [string.bytesize].pack("s>") + string.b
    def key(group, topic, partition) = [1].pack("s>") + text(group) + text(topic) + [partition].pack("l>")
    def value(offset, version = 3) = [version, offset, 2].pack("s>q>l>") + text("") + [9].pack("q>")
    def commit(group, topic, partition, offset) = [key(group, topic, partition), offset && value(offset)]

    # A recovery whose scan sees these records.
    def recovery(*rows)
      Admin::Recovery.new(kafka: {"bootstrap.servers": "a:1"}).tap do |recovery|
        @scanned = scanned = []
        records = Object.new
        records.define_singleton_method(:each) do |*place, &block|
          scanned << place
          rows.each do |key, value|
            row = Messages::MemoryBatch::Row.new(offset: 0, key: key, payload: value)
            block.call(Message.new(Messages::MemoryBatch.new("x", 0, [row]), 0))
          end
        end
        recovery.instance_variable_set(:@reader, records)
        admin = self.admin
        recovery.define_singleton_method(:admin) { |&block| block.call(admin) }
      end
    end

    def admin
      Object.new.tap do |admin|
        admin.define_singleton_method(:topic_info) do |name|
          raise name unless name == "__consumer_offsets"
          {partitions: LEADERS.map { |partition, leader| {partition_id: partition, leader: leader} }}
        end
        admin.define_singleton_method(:cluster_info) { {brokers: [{id: 1, host: "h", port: 9}, {id: 2, host: "i", port: 8}]} }
      end
    end

    test "[recovery] the last commit of each partition counts, deleted ones don't, and other groups are left out" do
      one = recovery(commit("g", "b", 1, 5), commit("other", "b", 1, 9), commit("g", "a", 0, 3), commit("g", "b", 1, 7),
        commit("g", "c", 0, 1), commit("g", "c", 0, nil), [[3].pack("s>"), "member"])

      assert_equal({"a" => {0 => 3}, "b" => {1 => 7}}, one.read_committed_offsets("g"))
      assert_equal %w[a b], one.read_committed_offsets("g").keys, "sorted"
      assert_equal [["__consumer_offsets", 3, :earliest]], @scanned.uniq
    end

    test "a time limits the scan" do
      since = Time.at(5)
      one = recovery(commit("b", "t", 0, 1), commit("a", "t", 0, 1), commit("a", "u", 0, 1), commit("gone", "u", 0, 1),
        commit("gone", "u", 0, nil))

      assert_equal %w[a b], one.affected_groups(2, last_committed_at: since)
      assert_equal [["__consumer_offsets", 2, since]], @scanned
    end

    test "[recovery] records of unknown versions are refused with their kinds, unless they concern another group or are ignored" do
      strange = [[key("g", "t", 0), value(4, 9)], [key("h", "t", 0), value(4, 9)], [[77].pack("s>"), ""]]
      one = recovery(commit("g", "t", 1, 5), *strange)
      error = assert_raises(Admin::Recovery::UnknownRecordsError) { one.read_committed_offsets("g") }

      assert_match(%r{1 × a value of version 9 for g, t/0; 1 × a key of version 77\. The result could be incomplete},
        error.message)
      assert_kind_of Error, error
      assert_raises(Admin::Recovery::UnknownRecordsError) { one.affected_groups(0) }
      assert_equal [{"t" => {1 => 5}}, %w[g]],
        [one.read_committed_offsets("g", ignore_unknown: true), one.affected_groups(0, ignore_unknown: true)]
    end

    test "the coordinator of a group is the leader of its partition" do
      assert_equal({partition: 3, broker_id: -1, broker_host: nil}, recovery.coordinator_for("g"))
      assert_equal({partition: 1, broker_id: 2, broker_host: "i:8"}, recovery.coordinator_for("billing"))
      assert_equal [1, [0, 2]], [recovery.offsets_partition_for("billing"), recovery.affected_partitions(1)]
    end

    test "the class uses the application's cluster, and without one it names the way out" do
      assert_match(/Penstock::Admin has no cluster/,
        assert_raises(ConfigurationError) { Admin::Recovery.read_committed_offsets("g") }.message)
      given = nil
      known = recovery(commit("g", "t", 0, 1))
      Admin.stub(:application_connection, [{"bootstrap.servers": "a:1"}, {timeout_ms: 5}]) do
        Admin::Recovery.stub(:new, ->(**options) { (given = options) && known }) do
          assert_equal({"t" => {0 => 1}}, Admin::Recovery.read_committed_offsets("g", last_committed_at: Time.at(1)))
        end
      end
      assert_equal({kafka: {"bootstrap.servers": "a:1"}, timeout_ms: 5}, given)
    end
  end
end
