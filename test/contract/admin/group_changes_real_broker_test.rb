# frozen_string_literal: true

require "test_helper"
require "support/kafka_tools"
require "support/real_broker"
require_relative "group_changes_contract"

module Penstock
  class GroupChangesOnRealBrokerTest < TestCase
    include TestSupport::RealBroker
    include TestSupport::Consuming
    include GroupChangesContract

    GroupChangesContract.add_to(self)

    OCCUPIED = "it has members; stop all its processes first"
    # Of a member of a KIP-848 group, which gets these from the broker.
    CLASSIC = %w[partition.assignment.strategy session.timeout.ms heartbeat.interval.ms].freeze
    private_constant :OCCUPIED, :CLASSIC

    def kafka = {"bootstrap.servers": bootstrap_servers}

    test "[seek/copy/rename/delete group] a group is set to a time; a time after the last record is the end" do
      topic = unique("topic").tap { |name| create_topic(name, 1) }
      produce(topic, %w[0 1 2], aged_s: 600)
      produce(topic, %w[3 4])
      reached = ->(time) { admin { |admin| admin.seek_consumer_group(group, {topic => time}) || offsets(admin, topic) } }

      assert_equal [0], reached.call(Time.now - 3_600)
      assert_equal [3], reached.call(Time.now - 300)
      assert_equal [5], reached.call(Time.now + 300)
    end

    test "[seek/copy/rename/delete group] with members of either protocol nothing is changed, and the error names what to do" do
      topic = topic_with(9)
      {classic: {}, consumer: {without: CLASSIC, group_protocol: "consumer"}}.each_value do |properties|
        @group = unique("busy")
        member = TestSupport::NativeMember.new(self, topic, group_id: group, **properties)
        member.await_assignment(1, 30)
        member.consumer.commit(1, [[topic, 0, 3]])
        assert_equal 0, member.await_event(:commit)[2]
        admin { |admin| assert_occupied(admin, topic) }
      ensure
        member&.close
      end
    end

    test "[seek/copy/rename/delete group] a group is renamed with all its commits, and the old one is gone" do
      topic, done = half_done(12, 6)
      renamed, before = unique("renamed"), rows_of(group)
      admin do |admin|
        assert admin.rename_consumer_group(group, renamed)
        assert_equal [before, []], [rows_of(renamed), rows_of(group)]
        assert_equal "Dead", admin.group_info(group)[:state]
        refute admin.rename_consumer_group(group, unique("again"))
      end
      assert_equal 10, done.size
      assert_equal topic, before.first[:topic]
    end

    test "[seek/copy/rename/delete group] a rename that would lose offsets is refused; one that keeps the group isn't" do
      one, other = topic_with(9), topic_with(9)
      renamed = unique("renamed")
      admin do |admin|
        admin.write_committed_offsets(group, [row(one, 4), row(other, 5)])
        error = assert_raises(InvalidRequestError) { admin.rename_consumer_group(group, renamed, [one]) }
        assert_match(/leave out #{other}, whose offsets would be deleted with #{group}/, error.message)
        assert_equal [], rows_of(renamed)
        assert admin.rename_consumer_group(group, renamed, [one], delete_previous: false)
        assert_equal [2, 1], [rows_of(group).size, rows_of(renamed).size]
      end
    end

    test "[seek/copy/rename/delete group] groups are deleted together; a missing one is named, the others are gone" do
      topic = topic_with(9)
      admin do |admin|
        admin.write_committed_offsets(group, [row(topic, 4)])
        missing = unique("missing")
        error = assert_raises(KafkaError) { admin.delete_consumer_group(missing, group) }

        assert_equal [:group_id_not_found, [missing]], [error.code, error.failures.keys]
        assert_equal [], rows_of(group)
      end
    end

    test "single committed offsets are deleted" do
      topic = topic_with(9, partitions: 2)
      admin do |admin|
        admin.write_committed_offsets(group, [row(topic, 4), {topic: topic, partition: 1, offset: 0}])
        admin.delete_committed_offsets(group, {topic => [0]})

        assert_equal [[1, 0]], rows_of(group).map { |one| one.values_at(:partition, :offset) }
        assert_equal :group_id_not_found,
          assert_raises(KafkaError) { admin.delete_committed_offsets(unique("missing"), {topic => [0]}) }.code
      end
    end

    test "[seek/copy/rename/delete group] a topic that was deleted is left out of a copy; its commits went with it" do
      kept, gone = topic_with(9), topic_with(9)
      copy = unique("copy")
      admin do |admin|
        admin.write_committed_offsets(group, [row(kept, 4), row(gone, 5)])
        admin.delete_topic(gone)
        assert admin.copy_consumer_group(group, copy)
        assert_equal [kept], rows_of(copy).map { |one| one[:topic] }
        error = assert_raises(KafkaError) { admin.write_committed_offsets(copy, [row(kept, 6), row(gone, 1)]) }
        assert_equal [:unknown_topic_or_part, [[gone, 0]]], [error.code, error.failures.keys]
        assert_equal [6, nil], committed_of(copy, kept)
      end
    end

    test "[seek/copy/rename/delete group] a copy waits for a transaction that holds an offset, within the time limit" do
      topic = topic_with(9)
      copy = unique("copy")
      admin { |admin| admin.write_committed_offsets(group, [row(topic, 1)]) }
      in_transaction(topic) do |release|
        error = assert_raises(KafkaError) { admin { |admin| admin.with(timeout_ms: 500).copy_consumer_group(group, copy) } }
        assert_equal :unstable_offset_commit, error.code
        copying = Thread.new { admin { |admin| admin.copy_consumer_group(group, copy) } }
        wait_until(5, "the copy waits") { copying.status == "sleep" }
        release.call
        assert copying.value
      end

      assert_equal 7, committed_of(copy, topic).first
    end

    test "[Group admin] kafka-consumer-groups reports each of our changes, and we report its" do
      topic, tools = topic_with(9, partitions: 2), TestSupport::KafkaTools.new(bootstrap_servers)
      copy, renamed, old, gone = %w[copy renamed old gone].map { |name| unique(name) }
      admin do |admin|
        change_each_way(admin, topic, copy, renamed, old, gone)
        shown = tools.run(:groups, "--describe", "--all-groups")
        {group => 4, copy => 4, renamed => 7}.each { |name, offset|
          assert_match(/^#{name}\s+#{topic}\s+0\s+#{offset}\s+9\s/, shown)
        }
        refute_match(/^(#{old}|#{gone}|#{copy}\s+#{topic}\s+1)\s/, shown)

        [[group, "--reset-offsets", "--topic", topic, "--shift-by", "-3", "--execute"],
          [copy, "--delete-offsets", "--topic", "#{topic}:0"], [renamed, "--delete"]].map { |name, *words|
          Thread.new { tools.run(:groups, "--group", name, *words) }
        }.each(&:join)
        assert_equal [[0, 1], [1, 0]], rows_of(group).map { |one| one.values_at(:partition, :offset) }.sort
        assert_equal [[], "Dead"], [rows_of(copy), admin.group_info(renamed)[:state]]
      end
    end

    private

    # Every change that Admin can make to the offsets of groups.
    def change_each_way(admin, topic, copy, renamed, old, gone)
      admin.seek_consumer_group(group, {topic => {0 => 4, 1 => 0}})
      admin.copy_consumer_group(group, copy)
      admin.delete_committed_offsets(copy, {topic => [1]})
      admin.write_committed_offsets(old, [row(topic, 7)])
      admin.rename_consumer_group(old, renamed)
      admin.write_committed_offsets(gone, [row(topic, 8)])
      admin.delete_consumer_group(gone)
    end

    def assert_occupied(admin, topic)
      [
        -> { admin.seek_consumer_group(group, {topic => :earliest}) }, -> {
                                                                         admin.copy_consumer_group(full(admin, topic), group)
                                                                       },
        -> { admin.rename_consumer_group(group, unique("new")) }, -> { admin.delete_consumer_group(group) },
        -> { admin.delete_committed_offsets(group, {topic => [0]}) }
      ].each do |change|
        error = assert_raises(KafkaError, &change)
        assert_includes error.message, OCCUPIED
      end
      assert_equal [3], offsets(admin, topic)
    end

    # Another group, with a commit.
    def full(admin, topic)
      unique("full").tap { |name| admin.write_committed_offsets(name, [row(topic, 1)]) }
    end

    # While the block runs, a transaction has sent offset 7 of the group, until the block calls what it gets.
    def in_transaction(topic)
      producer = Native::Producer.new(native.merge("transactional.id" => unique("transactional")))
      producer.init_transactions(20_000)
      producer.begin_transaction
      producer.send_offsets_to_transaction([[topic, 0, 7]], Native::GroupMetadata.for_group(group), 20_000)
      yield -> { producer.commit_transaction(20_000) }
    ensure
      producer&.close(5_000)
    end
  end
end
