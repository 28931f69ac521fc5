# frozen_string_literal: true

require "test_helper"
require "logger"
require "penstock/producer"
require "support/native_member"
require_relative "admin_contract"

module Penstock
  class AdminOnRealBrokerTest < TestCase
    include AdminContract

    test "[Admin CRUD] partitions are added and visible when the call returns" do
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

    test "the settings of a topic, with those that the broker has for all; a missing topic is an error" do
      admin do |admin|
        name = unique("configured")
        admin.create_topic(name, partitions: 1, config: {"retention.ms" => 60_000})
        found = admin.topic_configs([name])

        assert_equal [name], found.keys
        assert_equal %w[60000 delete], found.fetch(name).values_at("retention.ms", "cleanup.policy")
        missing = assert_raises(KafkaError) { admin.topic_configs([unique("missing")]) }
        assert_equal :unknown_topic_or_part, missing.code
        admin.delete_topic(name)
      end
    end

    # The error of each request about something that doesn't exist. Not of rights: a filter that matches nothing is no error.
    UNKNOWN = {
      describe_configs: :unknown_topic_or_part, alter_configs: :unknown_topic_or_part, delete_records: :unknown_topic_or_part,
      describe_topics: :unknown_topic_or_part, elect_leaders: :unknown_topic_or_part,
      write_committed_offsets: :unknown_topic_or_part,
      delete_consumer_group: :group_id_not_found, delete_committed_offsets: :group_id_not_found,
      describe_users: :resource_not_found, delete_user: :resource_not_found
    }.freeze
    private_constant :UNKNOWN

    test "every request about a name that doesn't exist is refused with an error that names it, and creates nothing" do
      missing = unique("missing")
      resource = Admin::Configs::Resource.new(type: :topic, name: missing).set("segment.ms", 5)
      arguments = {describe_configs: [resource], alter_configs: [resource], delete_records: [{missing => 0}],
                   describe_topics: [missing], elect_leaders: [{missing => [0]}],
                   write_committed_offsets: [missing, [{topic: missing, partition: 0, offset: 0}]],
                   delete_consumer_group: [missing], delete_committed_offsets: [missing, {missing => [0]}],
                   describe_users: [missing], delete_user: [missing]}
      admin do |admin|
        errors = arguments.to_h { |name, given| [name, assert_raises(KafkaError, name.to_s) { admin.public_send(name, *given) }] }

        assert_equal UNKNOWN, errors.transform_values(&:code)
        errors.each { |name, error| assert_includes error.message, missing, name.to_s }
        refute_includes admin.topics, missing
        assert_equal "Dead", admin.group_info(missing)[:state]
      end
    end

    test "a broker that checks no rights refuses requests about them, in its own words" do
      admin do |admin|
        error = assert_raises(KafkaError) { admin.describe_acls(Admin::Acl.filter) }
        assert_equal "No Authorizer is configured on the broker (security_disabled)", error.message
        assert_equal :security_disabled, assert_raises(KafkaError) {
          admin.delete_acls(Admin::Acl.filter(principal: "User:a"))
        }.code
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

    test "[Group admin] groups are listed and described: state, protocol, members and their partitions" do
      with_topic(2) do |admin, name|
        classic, modern = unique("classic"), unique("modern")
        in_group(classic, name, session_timeout_ms: 6_000) do
          assert_listed(admin, classic, name, "Classic", "cooperative-sticky")
        end
        in_group(modern, name, without: CLASSIC, group_protocol: "consumer") do
          assert_listed(admin, modern, name, "Consumer", "uniform")
        end
        wait_until(10, "an empty group") { admin.group_info(classic).values_at(:state, :members) == ["Empty", []] }
      end
    end

    test "[Group admin] a group that nobody uses is described as dead" do
      admin { |admin| assert_equal ["Dead", []], admin.group_info(unique("nobody")).values_at(:state, :members) }
    end

    test "[list_offsets] while a transaction is open read_committed ends before it, read_uncommitted after it" do
      with_topic(1) do |admin, name|
        produce(name, 2)
        ends = -> { %i[read_committed read_uncommitted].map { |level| latest(admin, name, isolation_level: level) } }
        producer = transactional
        producer.transaction do |transaction|
          transaction.produce_sync(topic: name, payload: "open")
          assert_equal [[2, 3], 3], [ends.call, latest(admin, name)]
        end

        assert_equal [4, 4], wait_until(10, "its marker") { ends.call.then { |found| found if found.uniq.size == 1 } }
      ensure
        producer&.close
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

    private

    # Settings that a member of a KIP-848 group gets from the broker.
    CLASSIC = %w[partition.assignment.strategy session.timeout.ms heartbeat.interval.ms].freeze
    private_constant :CLASSIC

    # Runs the block while a member of the group has both partitions of the topic.
    def in_group(group, topic, **properties)
      member = TestSupport::NativeMember.new(self, topic, group_id: group, client_id: "lister", **properties)
      member.await_assignment(2, 30)
      yield
    ensure
      member&.close
    end

    def assert_listed(admin, group, topic, type, assignor)
      info = wait_until(30, "a stable #{group}") { admin.group_info(group).then { |found| found if found[:state] == "Stable" } }

      assert_equal [{group: group, state: "Stable", type: type}], admin.groups.select { |row| row[:group] == group }
      assert_equal [group, type, assignor], info.values_at(:group, :type, :assignor)
      member = info[:members].first
      assert_equal [1, "lister", [[topic, 0], [topic, 1]]],
        [info[:members].size, member[:client_id], member[:partitions].map { |row| row.first(2) }.sort]
    end

    def latest(admin, name, **options)
      admin.read_partition_offsets({name => [{partition: 0, offset: :latest}]}, **options).first[:offset]
    end

    def transactional
      Producer.new do |config|
        config.kafka = {"bootstrap.servers": bootstrap_servers, "transactional.id": unique("id")}
        config.logger = Logger.new(nil)
      end
    end
  end
end
