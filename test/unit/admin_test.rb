# frozen_string_literal: true

require "test_helper"
require "minitest/mock"
require "penstock/admin"

# An admin client of a cluster that isn't the application's.
class AdminOpenTest < Penstock::TestCase
  SERVERS = {"bootstrap.servers": "127.0.0.1:1"}.freeze

  test "properties are given with or without braces, options next to them" do
    answers = [Penstock::Admin.open(SERVERS, &:inspect), Penstock::Admin.open(**SERVERS, &:inspect),
      Penstock::Admin.open(SERVERS, timeout_ms: 5, &:inspect), Penstock::Admin.open(**SERVERS, timeout_ms: 5, &:inspect)]

    assert_equal ["#<Penstock::Admin 127.0.0.1:1>"], answers.uniq
  end

  test "without properties the error shows how to give them" do
    error = assert_raises(ArgumentError) { Penstock::Admin.open {} }

    assert_includes error.message, "Penstock::Admin.open(\"bootstrap.servers\""
  end

  test "[admin other cluster/client] an object takes a cluster, or another Admin whose connection it uses; anything else is refused" do
    first = Penstock::Admin.new(kafka: SERVERS)
    second = Penstock::Admin.new(external_client: first, timeout_ms: 5)

    assert_equal [first.inspect] * 2, [second.inspect, second.with(timeout_ms: 1).inspect]
    {{} => /needs kafka:/, {kafka: SERVERS, external_client: first} => /not both/, {external_client: "x"} => /takes a Penstock::Admin, not String/}
      .each { |arguments, message| assert_match message, assert_raises(ArgumentError) { Penstock::Admin.new(**arguments) }.message }
  end

  test "every command of an object is one of the class, with the application's cluster" do
    modules = %i[TopicCommands OffsetCommands GroupCommands SecurityCommands].map { |name| Penstock::Admin.const_get(name) }

    assert_empty modules.flat_map(&:public_instance_methods).reject { |name| Penstock::Admin.respond_to?(name) }
    [-> { Penstock::Admin.describe_users }, -> { Penstock::Admin.with(timeout_ms: 5) { |admin| admin.topics } },
      -> { Penstock::Admin::Users.describe }, -> { Penstock::Admin::Acl.all }, -> { Penstock::Admin::ConsumerGroups.delete("x") },
      -> { Penstock::Admin::Replication.plan(topic: "t", replication_factor: 2) },
      -> { Penstock::Admin::Configs.describe(Penstock::Admin::Configs::Resource.new(type: :topic, name: "t")) }].each do |command|
      assert_match(/define an application first/, assert_raises(Penstock::ConfigurationError, &command).message)
    end
  end

  test "topics have their commands in Admin::Topics, too" do
    names = {create: :create_topic, delete: :delete_topic, info: :topic_info, read: :read_topic}
    calls = {create: ["t", 2, 1, {}], delete: ["t"], create_partitions: ["t", 3], info: ["t"], read: ["t", 0, 5],
             read_watermark_offsets: ["t", 0]}.map do |name, arguments|
      real = names.fetch(name, name)
      given = Penstock::Admin.stub(real, ->(*all) { all }) { Penstock::Admin::Topics.public_send(name, *arguments) }
      [given, arguments]
    end
    assert_equal calls.map(&:last), calls.map(&:first)
  end

  test "[trigger_rebalance] a group that isn't in the routes is refused, with what to do" do
    before = Penstock::Admin.instance_variable_get(:@member)
    Penstock::Admin.member = ->(_group) {}
    error = assert_raises(Penstock::InvalidRequestError) { Penstock::Admin.trigger_rebalance("nobody") }

    assert_equal "group nobody: isn't in the routes, or nobody subscribes to its topics. " \
      "Of any other group: Penstock::Admin.with { |admin| admin.trigger_rebalance(group, topics) }", error.message
  ensure
    Penstock::Admin.member = before
  end
end
