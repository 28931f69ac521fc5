# frozen_string_literal: true

require "penstock/admin"
require "penstock/cli/offset_writer"
require "penstock/native/producer"
require "support/real_broker"

module Penstock
  # Behaviour of Penstock::Admin with any broker. Including classes define `bootstrap_servers`.
  module AdminContract
    include TestSupport::RealBroker

    def self.included(base) # rubocop:disable Metrics/MethodLength -- a list of tests
      base.class_eval do
        test "[admin topics] [Admin CRUD] a topic is visible with all its leaders when create returns, and gone when delete returns" do
          admin do |admin|
            name = unique("orders")
            admin.create_topic(name, partitions: 3, replication_factor: 1)

            assert_equal 3, admin.topics.fetch(name)
            info = admin.topic_info(name)
            assert_equal [name, 3, 1], info.values_at(:topic_name, :partition_count, :replication_factor)
            assert(info[:partitions].all? { |partition| partition[:leader].positive? })
            admin.delete_topic(name)
            refute_includes admin.topics, name
          end
        end

        test "a topic can be created with positional arguments, as in Karafka" do
          with_topic(2) { |admin, name| assert_equal 2, admin.topic_info(name)[:partition_count] }
        end

        test "errors are those of the broker" do
          with_topic(1) do |admin, name|
            assert_equal :topic_already_exists, assert_raises(KafkaError) { admin.create_topic(name, partitions: 1) }.code
          end
          admin do |admin|
            missing = unique("missing")

            assert_equal :unknown_topic_or_part, assert_raises(KafkaError) { admin.delete_topic(missing) }.code
            assert_equal :unknown_topic_or_part, assert_raises(KafkaError) { admin.topic_info(missing) }.code
          end
        end

        test "requesting a topic doesn't create it" do
          admin do |admin|
            missing = unique("missing")
            assert_raises(KafkaError) { admin.topic_info(missing) }

            refute_includes admin.topics, missing
          end
        end

        test "the cluster returns its id, its brokers and its topics" do
          with_topic(1) do |admin, name|
            info = admin.cluster_info

            refute_empty info[:cluster_id]
            assert_equal Integer(bootstrap_servers[/:(\d+)/, 1]), info[:brokers].first[:port]
            assert_includes info[:topics], name
          end
        end

        test "[list_offsets] first offset and end of partitions are read with one request each" do
          with_topic(2) do |admin, name|
            produce(name, 3)

            assert_equal [0, 3], admin.read_watermark_offsets(name, 0)
            assert_equal({name => {0 => [0, 3], 1 => [0, 0]}}, admin.read_watermark_offsets(name => [0, 1]))
            rows = admin.read_partition_offsets({name => [{partition: 0, offset: :latest}, {partition: 1, offset: :earliest}]})
            assert_equal([[0, 3], [1, 0]], rows.map { |row| row.values_at(:partition, :offset) })
          end
        end

        test "a time after the last record has no offset" do
          with_topic(1) do |admin, name|
            produce(name, 1)

            assert_equal({name => {0 => -1}}, admin.offsets_for_times(name => {0 => Time.now + 3_600}))
          end
        end

        test "a missing partition, and one of a missing topic, is an error that names it" do
          with_topic(1) do |admin, name|
            partition = assert_raises(KafkaError) { admin.read_watermark_offsets(name, 7) }
            topic = assert_raises(KafkaError) { admin.offsets_for_times("missing" => {0 => Time.now}) }

            assert_equal %i[unknown_partition unknown_topic_or_part], [partition, topic].map(&:code)
            assert_equal ["#{name}/7", "missing/0"], [partition, topic].map { |error| error.message[/\A[^:]+/] }
          end
        end

        test "[Consumer lag] a group that never committed has no lag, and its topics are listed" do
          with_topic(2) do |admin, name|
            group = unique("group")
            produce(name, 2)

            assert_equal [[0, nil, 2, nil], [1, nil, 0, nil]],
              admin.group_lag(group, [name]).map { |row| row.values_at(:partition, :committed, :end, :lag) }
            assert_equal({offset: -1, lag: -1}, admin.read_lags_with_offsets({group => [name]}).dig(group, name, 0))
            assert_equal [], admin.read_committed_offsets(group)
          end
        end

        test "[Consumer lag] records that are complete beyond the committed offset are lag, and not incomplete" do
          with_topic(2) do |admin, name|
            group = unique("group")
            produce(name, 10)
            commit(group, name, 2, Native::Envelope.write(base: 2, topic: name, completed: [[3, 7], [8, 9]]).text)

            [nil, [name]].each do |topics|
              row = admin.group_lag(group, topics).find { |each| each[:committed] }
              assert_equal [0, 2, 10, 8, 3], row.values_at(:partition, :committed, :end, :lag, :incomplete)
            end
            rows = admin.read_committed_offsets(group).map { |row| row.values_at(:topic, :partition, :offset) }
            assert_equal [[name, 0, 2]], rows
          end
        end

        test "a command on the class connects to the application's cluster, for one call" do
          before = Native.handle_count
          Admin.kafka = -> { {"bootstrap.servers": bootstrap_servers} }

          assert_kind_of Hash, Admin.topics
          assert_equal before, Native.handle_count
        ensure
          Admin.kafka = nil
        end

        test "without a group, the class returns those that the application routes" do
          with_topic(1) do |_admin, name|
            group = unique("group")
            Admin.kafka = -> { {"bootstrap.servers": bootstrap_servers} }
            Admin.options = -> { {timeout_ms: 20_000, visible_ms: 20_000, pause_ms: 20} }
            Admin.routed = ->(active) { active ? {group => [name]} : {} }

            assert_equal({group => {name => {0 => {offset: -1, lag: -1}}}}, Admin.read_lags_with_offsets)
            assert_equal({}, Admin.read_lags_with_offsets({}, active_topics_only: false))
            assert_equal [group], Admin.read_lags_with_offsets(group => [name]).keys
            assert_equal [group], Admin.read_lags_with_offsets({group => [name]}, active_topics_only: false).keys
          end
        ensure
          Admin.kafka = Admin.options = Admin.routed = nil
        end

        test "commands on the class without an application raise an error with what to do" do
          error = assert_raises(ConfigurationError) { Admin.topics }

          assert_match(/Penstock::Admin.open/, error.message)
        end

        test "one object serves many threads" do
          with_topic(1) do |admin, name|
            results = Array.new(8) { Thread.new { admin.read_watermark_offsets(name, 0) } }.map(&:value)

            assert_equal [[0, 0]], results.uniq
          end
        end

        test "[admin other cluster/client] an object that uses another one's connection leaves it open, and ends with it" do
          owner = Admin.new(kafka: {"bootstrap.servers": bootstrap_servers})
          owner.create_topic(name = unique("shared"), 2, 1)
          before = Native.handle_count
          guest = Admin.new(external_client: owner, timeout_ms: 20_000)
          limited = guest.with(timeout_ms: 15_000)

          assert_equal [2] * 3, [owner, guest, limited].map { |admin| admin.topics[name] }
          assert_equal before, Native.handle_count
          [limited, guest].each(&:close)
          owner.delete_topic(name)
          owner.close
          [guest, limited].each { |one| assert_raises(HandleClosedError) { one.topics } }
        end

        test "a command with a shorter time limit ends with it" do
          admin do |admin|
            error = assert_raises(KafkaError, WaitTimeoutError) { admin.with(timeout_ms: 0).topics }
            assert_kind_of Error, error
            assert_kind_of Hash, admin.topics
          end
        end

        test "after close every command raises, and closing again does nothing" do
          admin = Admin.new(kafka: {"bootstrap.servers": bootstrap_servers})
          admin.topics
          2.times { admin.close }

          assert_raises(HandleClosedError) { admin.topics }
        end
      end
    end

    private

    def admin(&block)
      Admin.open({"bootstrap.servers": bootstrap_servers, acks: "all", "group.id": "none"}, timeout_ms: 20_000, &block)
    end

    def with_topic(partitions)
      admin do |admin|
        name = unique("topic")
        admin.create_topic(name, partitions, 1)
        yield admin, name
        admin.delete_topic(name)
      end
    end

    def commit(group, topic, offset, metadata)
      CLI::OffsetWriter.new({"bootstrap.servers" => bootstrap_servers}, 20_000).call(group, [[topic, 0, offset, metadata]])
    end

    # @return [Array<Integer>] times of the records, in ms
    def produce(topic, count)
      producer = Native::Producer.new({"bootstrap.servers" => bootstrap_servers})
      first = (Time.now.to_i - 3_600) * 1_000 # recent, since a broker deletes older records than its retention
      times = Array.new(count) { |index| first + (index * 1_000) }
      times.each { |time| producer.produce(topic, "payload", partition: 0, timestamp_ms: time, handle: false) }
      producer.flush(10_000)
      times
    ensure
      producer&.close(5_000)
    end
  end
end
