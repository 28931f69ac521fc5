# frozen_string_literal: true

require "test_helper"
require "penstock/admin"
require "penstock/native/producer"
require_relative "../support/kafka_tools"
require_relative "../support/real_broker"

module Penstock
  # Settings of topics, brokers and groups, and deleting records, on a real broker; what Kafka's own tools report of our changes
  # and we of theirs.
  class AdminConfigsTest < TestCase
    include TestSupport::RealBroker

    Resource = Admin::Configs::Resource

    test "[configs/ACL] [Admin CRUD] a setting is set, appended to, subtracted from, deleted, and described each time" do
      with_topic do |admin, name|
        admin.alter_configs(topic(name).set("segment.ms", 60_000).append("cleanup.policy", :compact))
        assert_equal %w[60000 delete,compact], described(admin, name).values_at("segment.ms", "cleanup.policy")

        admin.alter_configs(topic(name).subtract("cleanup.policy", "delete").delete("segment.ms"))
        assert_equal %w[604800000 compact], described(admin, name).values_at("segment.ms", "cleanup.policy")

        admin.alter_configs(topic(name).append("cleanup.policy", %w[delete]))
        admin.alter_configs(topic(name).subtract("cleanup.policy", %w[compact]))
        assert_equal "delete", described(admin, name)["cleanup.policy"]
      end
    end

    test "[configs/ACL] a setting reports where its value comes from, and its values at the other places" do
      with_topic do |admin, name|
        before = config(admin, name, "max.message.bytes")
        assert_equal [true, :default, false, false, false],
          [before.default?, before.source, before.read_only?, before.sensitive?, before.synonym?]

        admin.alter_configs(topic(name).set("max.message.bytes", 60_000))
        after = config(admin, name, "max.message.bytes")
        assert_equal [false, :topic, "60000"], [after.default?, after.source, after.value]
        assert_equal [["max.message.bytes", "60000", :topic], ["message.max.bytes", "1048588", :default]],
          after.synonyms.map { |one| [one.name, one.value, one.source] }
        assert after.synonyms.all?(&:synonym?)
      end
    end

    test "[configs/ACL] one call describes and alters topics, a broker and a group; the others don't change" do
      with_topic do |admin, name|
        broker = admin.cluster_info[:brokers].first[:id]
        group = unique("group")
        resources = [topic(name).set("segment.ms", 1),
          Resource.new(type: :broker, name: broker).set("log.cleaner.backoff.ms", 20_000),
          Resource.new(type: :group, name: group).set("consumer.session.timeout.ms", 50_000)]
        admin.alter_configs(resources)
        found = wait_until(10, "the changes", state: -> { admin.describe_configs(resources) }) do
          all = admin.describe_configs(resources)
          all if all.zip(resources).map { |one, changed| one[changed.operations[0][1]] } == %w[1 20000 50000]
        end

        assert_equal [[:topic, name], [:broker, broker.to_s], [:group, group]], found.map { |one| [one.type, one.name] }
        assert_equal [:topic, :broker, :group], found.each_with_index.map { |one, index| source(one, resources[index]) }
        assert_nil found[1]["ssl.keystore.password"]
        assert found[1].configs.find { |one| one.name == "ssl.keystore.password" }.sensitive?
        assert found[1].configs.find { |one| one.name == "broker.id" || one.name == "node.id" }.read_only?
      ensure
        admin.alter_configs(Resource.new(type: :broker, name: broker).delete("log.cleaner.backoff.ms"))
      end
    end

    test "[Alter bad op] what is wrong with the operations is raised before anything is sent, all of it" do
      with_topic do |admin, name|
        error = assert_raises(InvalidRequestError) do
          admin.alter_configs(topic(name).set("segment.ms", 1).set("segment.ms", 2), topic("other").append("cleanup.policy", nil),
            topic("third"), topic(name).delete(" "))
        end

        assert_equal [
          "topic #{name}, \"segment.ms\": is changed 2 times in one request",
          "topic other, \"cleanup.policy\": append needs a value. delete gives a setting its default.",
          "topic third: no change is given. Call set, delete, append or subtract.",
          "topic #{name}, \" \": a setting needs a name", "topic #{name}: is given 2 times"
        ], error.problems.map(&:to_s)
        assert_equal "604800000", described(admin, name)["segment.ms"]
      end
    end

    test "[Alter bad op] an unknown setting, or a value that the broker refuses, changes nothing, and its message arrives" do
      with_topic do |admin, name|
        unknown = assert_raises(KafkaError) { admin.alter_configs(topic(name).set("segment.ms", 5).set("segmnt.ms", 1)) }
        value = assert_raises(KafkaError) { admin.alter_configs(topic(name).set("segment.ms", "long")) }

        assert_equal [:invalid_config, :invalid_config], [unknown.code, value.code]
        assert_match(/\Atopic #{name}: Unknown topic config name: segmnt\.ms/, unknown.message)
        assert_equal "604800000", described(admin, name)["segment.ms"]
      end
    end

    test "of several resources the failed ones are listed, with their errors; the others are changed" do
      with_topic do |admin, name|
        missing = [unique("missing"), unique("missing")]
        error = assert_raises(KafkaError) do
          admin.alter_configs(topic(missing[0]).set("segment.ms", 5), topic(name).set("segment.ms", 5),
            topic(missing[1]).set("segment.ms", 5))
        end

        assert_equal :unknown_topic_or_part, error.code
        assert_equal missing, error.failures.keys.map(&:last)
        missing.each { |one| assert_includes error.message, "topic #{one}: " }
        # The controller has answered; the broker that is asked applies it later.
        setting = -> { described(admin, name)["segment.ms"] }
        wait_until(10, "the change", state: setting) { setting.call == "5" }
        assert_equal :unknown_topic_or_part, assert_raises(KafkaError) { admin.describe_configs(topic(missing[0])) }.code
      end
    end

    test "with validate_only the broker checks the change without making it" do
      with_topic do |admin, name|
        admin.alter_configs(topic(name).set("segment.ms", 5), validate_only: true)

        assert_equal :invalid_config,
          assert_raises(KafkaError) { admin.alter_configs(topic(name).set("segment.ms", "x"), validate_only: true) }.code
        assert_equal "604800000", described(admin, name)["segment.ms"]
      end
    end

    test "[configs/ACL] kafka-configs reports each of our changes, of topics, brokers and groups, and we report its" do
      with_topic do |admin, name|
        tools, group = TestSupport::KafkaTools.new(bootstrap_servers), unique("group")
        broker = admin.cluster_info[:brokers].first[:id]
        admin.alter_configs(topic(name).set("segment.ms", 61_000).append("cleanup.policy", "compact"),
          Resource.new(type: :broker, name: broker).set("log.cleaner.backoff.ms", 21_000),
          Resource.new(type: :group, name: group).set("consumer.session.timeout.ms", 51_000))
        shown = shown(tools, topics: name, brokers: broker, groups: group)
        [/segment\.ms=61000/, /cleanup\.policy=delete,compact/, /log\.cleaner\.backoff\.ms=21000/,
          /consumer\.session\.timeout\.ms=51000/].each { |setting| assert_match setting, shown }

        tools.run(:configs, "--alter", "--topic", name, "--add-config", "segment.ms=62000,flush.ms=70000", "--delete-config",
          "cleanup.policy")
        assert_equal %w[62000 70000 delete], described(admin, name).values_at("segment.ms", "flush.ms", "cleanup.policy")
        admin.alter_configs(topic(name).delete("segment.ms"))
        after = shown(tools, topics: name)
        refute_match(/segment\.ms=/, after)
        assert_match(/flush\.ms=70000/, after)
      ensure
        admin.alter_configs(Resource.new(type: :broker, name: broker).delete("log.cleaner.backoff.ms"),
          Resource.new(type: :group, name: group).delete("consumer.session.timeout.ms"))
      end
    end

    test "records before an offset are deleted; the answer has the first that are left" do
      with_topic(2) do |admin, name|
        produce(name, 0 => 5, 1 => 3)

        assert_equal({name => {0 => 2}}, admin.delete_records(name => {0 => 2}))
        assert_equal({name => {0 => [2, 5], 1 => [0, 3]}}, admin.read_watermark_offsets(name => [0, 1]))
        assert_equal({name => {0 => 5, 1 => 3}}, admin.delete_records(name => :latest))
        assert_equal({name => {0 => [5, 5], 1 => [3, 3]}}, admin.read_watermark_offsets(name => [0, 1]))
      end
    end

    test "records that don't exist can't be deleted: nothing is, and all mistakes are named" do
      with_topic(2) do |admin, name|
        produce(name, 0 => 5)
        error = assert_raises(InvalidRequestError) { admin.delete_records(name => {0 => 9, 1 => 1}) }

        assert_equal ["#{name}/0: has no offset 9: its log is from 0 to 5", "#{name}/1: has no offset 1: its log is from 0 to 0"],
          error.problems.map(&:to_s)
        assert_equal [0, 5], admin.read_watermark_offsets(name, 0)
        assert_equal :unknown_topic_or_part, assert_raises(KafkaError) { admin.delete_records(unique("missing") => 1) }.code
        admin.alter_configs(topic(name).set("cleanup.policy", "compact"))
        assert_equal :policy_violation, assert_raises(KafkaError) { admin.delete_records(name => {0 => 2}) }.code
      end
    end

    private

    def with_topic(partitions = 1)
      Admin.open({"bootstrap.servers": bootstrap_servers}, timeout_ms: 20_000) do |admin|
        name = unique("configured")
        admin.create_topic(name, partitions, 1)
        yield admin, name
        admin.delete_topic(name)
      end
    end

    # Output of Kafka's tool about one of each kind.
    def shown(tools, **entities)
      entities.map { |type, name|
        Thread.new { tools.run(:configs, "--describe", "--entity-type", type.to_s, "--entity-name", name.to_s) }
      }.map(&:value).join
    end

    def topic(name) = Resource.new(type: :topic, name: name)
    def described(admin, name) = admin.topic_configs([name]).fetch(name)
    def config(admin, name, setting) = admin.describe_configs(topic(name)).first.configs.find { |one| one.name == setting }

    def source(resource, changed)
      setting = changed.operations[0][1]
      resource.configs.find { |config| config.name == setting }.source
    end

    def produce(topic, counts)
      producer = Native::Producer.new({"bootstrap.servers" => bootstrap_servers})
      counts.each { |partition, count| count.times { producer.produce(topic, "x", partition: partition, handle: false) } }
      producer.flush(10_000)
    ensure
      producer&.close(5_000)
    end
  end
end
