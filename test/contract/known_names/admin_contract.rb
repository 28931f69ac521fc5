# frozen_string_literal: true

require "penstock"
require "penstock/admin"
require "support/real_broker"
require "support/rules"

module Penstock
  # The expectations that users of Karafka have of the names of Admin: each holds, or is refused with what to do instead. With
  # any broker; including classes define `bootstrap_servers`.
  module KnownAdminContract
    extend TestSupport::Rules

    def with_topic(partitions = 1)
      Admin.open("bootstrap.servers": bootstrap_servers) do |admin|
        name = unique("known")
        admin.create_topic(name, partitions, 1, {"retention.ms": 1_000})
        yield admin, name
      end
    end

    rule "topics are created with positional arguments, described, and deleted" do
      with_topic(2) do |admin, name|
        info = admin.topic_info(name)
        assert_equal [name, 2, 1], info.values_at(:topic_name, :partition_count, :replication_factor)
        assert_includes admin.cluster_info[:topics], name
        admin.delete_topic(name)
        assert_equal :unknown_topic_or_part, assert_raises(KafkaError) { admin.topic_info(name) }.code
      end
    end

    rule "watermarks are read for one partition or for many, offsets by name or time" do
      with_topic(2) do |admin, name|
        assert_equal [0, 0], admin.read_watermark_offsets(name, 0)
        assert_equal({name => {0 => [0, 0], 1 => [0, 0]}}, admin.read_watermark_offsets({name => [0, 1]}))
        rows = admin.read_partition_offsets({name => [{partition: 0, offset: :earliest}, {partition: 1, offset: :latest}]})
        assert_equal [[name, 0, 0], [name, 1, 0]], rows.map { |row| row.values_at(:topic, :partition, :offset) }.sort
        assert_equal %i[leader_epoch offset partition timestamp topic], rows.first.keys.sort
      end
    end

    rule "lags of existing topics are read also where another topic doesn't exist: that one is -1" do
      with_topic(2) do |admin, name|
        none = {offset: -1, lag: -1}
        found = admin.read_lags_with_offsets({"nobody" => [name, "#{name}-later"], "other" => ["#{name}-later"]})

        assert_equal({"nobody" => {name => {0 => none, 1 => none}, "#{name}-later" => {0 => none}},
                      "other" => {"#{name}-later" => {0 => none}}}, found)
      end
    end

    rule "Karafka's constants exist; commands that don't name what to do instead, on the class and an instance" do
      Admin.open("bootstrap.servers": bootstrap_servers) do |admin|
        Compat::Karafka::Admin::COMMANDS.each do |name, instead|
          [Admin, admin].each do |one|
            assert_includes assert_raises(NoMethodError) { one.public_send(name) }.message, instead
            refute_respond_to one, name
          end
        end
      end
      %i[Acl Configs ConsumerGroups IsolationLevels Recovery Replication Topics].each { |name| assert Admin.const_get(name) }
    end
  end
end
