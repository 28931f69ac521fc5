# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/admin"
require_relative "../support/command_line"
require_relative "../support/kafka_tools"
require_relative "../support/native_member"
require_relative "../support/real_broker"

module Penstock
  # The commands about declared topics as a user runs them, on a real broker.
  class DeclaredTopicsTest < TestCase
    include TestSupport::CommandLine
    include TestSupport::RealBroker

    def setup
      super
      @name = unique("declared")
    end

    def teardown
      Admin.open("bootstrap.servers": bootstrap_servers) do |admin|
        admin.topics.each_key { |topic| admin.delete_topic(topic) if topic.start_with?(@name) }
      end
      super
    end

    def declare(text)
      write("penstock.rb", <<~RUBY)
        require "penstock"
        class DeclaredApp < Penstock::App
          setup { |config| config.kafka = {"bootstrap.servers": #{bootstrap_servers.inspect}} }
          declaratives.draw do
            #{text}
          end
        end
      RUBY
    end

    # @return [Result]
    def topics(*argv) = penstock("topics", *argv)

    def declare_orders(partitions: 2, retention: 86_400_000, more: "")
      declare(%(topic(#{@name.inspect}) { partitions #{partitions}; config("retention.ms": #{retention}); #{more} }))
    end

    def configs = Admin.open("bootstrap.servers": bootstrap_servers) { |admin| admin.topic_configs([@name])[@name] }

    test "[topics migrate/plan] a topic is created, changed and left alone, and what Kafka's own script changes is set back" do
      declare_orders
      planned = topics("plan", "--detailed-exitcode")
      assert_equal ["create #{@name} with 2 partitions, replication factor 1, retention.ms=86400000\n", 2],
        planned.to_a.values_at(0, 2)
      assert_equal 0, topics("apply").code
      assert_equal ["the cluster has all topics as declared\n", "", 0], topics("apply", "--detailed-exitcode").to_a

      declare_orders(partitions: 3, retention: 3_600_000)
      refused = topics("apply")
      assert_equal [1, 2], [refused.code, topics_of_cluster[@name]]
      assert_equal 2, topics("apply", "--yes", "--detailed-exitcode").code
      assert_equal [3, "3600000"], [topics_of_cluster[@name], configs["retention.ms"]]

      TestSupport::KafkaTools.new(bootstrap_servers).run(:configs, "--alter", "--topic", @name, "--add-config",
        "retention.ms=5000")
      drift = topics("plan", "--detailed-exitcode")
      assert_equal ["set #{@name}: retention.ms 5000 → 3600000\n", 2], drift.to_a.values_at(0, 2)
      assert_equal ["3600000", 0], [topics("align").then { configs["retention.ms"] }, topics("plan", "--detailed-exitcode").code]
    end

    test "an old plan file is refused; a new one is applied as it was reviewed" do
      declare_orders
      assert_equal 0, topics("plan", "--out", "plan.json").code
      assert_equal 0, topics("apply", "plan.json").code
      again = topics("apply", "plan.json")

      assert_equal 1, again.code
      assert_match(/plan\.json isn't applied: the cluster has changed since it was made \(#{@name}\)/, again.err)
    end

    test "nothing is ever deleted by apply; a protected topic isn't deleted, nor one that a group reads" do
      declare_orders(more: "protect")
      topics("apply")
      declare(%(topic("#{@name}-other")))
      assert_equal 0, topics("apply").code
      assert_includes topics_of_cluster, @name

      reader = consumed("#{@name}-other")
      refused = topics("delete", "#{@name}-other", "--yes")
      assert_equal 1, refused.code
      assert_match(/not deleted, it is consumed by group #{@name}: stop these processes first/, refused.err)
      reader.close

      declare_orders(more: "protect")
      assert_match(/it is protected/, topics("delete", @name, "--yes").err)
      assert_match(/it is protected/, topics("reset", @name, "--yes").err)
      assert_equal %W[#{@name} #{@name}-other], topics_of_cluster.keys.grep(/\A#{@name}/)
    end

    test "a topic is reset: empty, and as declared" do
      declare_orders(partitions: 1)
      topics("apply")
      penstock("produce", @name, "x")
      declare_orders(partitions: 2)
      found = topics("reset", @name, "--yes")

      assert_equal ["deleted #{@name}\ncreated #{@name}\n", "", 0], found.to_a
      assert_equal 2, topics_of_cluster[@name]
      assert_equal [0, 0], Admin.open("bootstrap.servers": bootstrap_servers) { |admin| admin.read_watermark_offsets(@name, 0) }
    end

    test "[topics health] RF 1 red" do
      declare_orders
      topics("apply")
      found = topics("health", @name, "--json", "--detailed-exitcode")

      assert_equal [2, [[@name, "red"]]], [found.code, JSON.parse(found.out).map { |one| one.values_at("name", "level") }.uniq]
    end

    test "a broker that can't be reached is an error of one line" do
      declare_orders
      found = topics("plan", "-X", "bootstrap.servers=127.0.0.1:1", "--timeout", "2")

      assert_equal 1, found.code
      assert_match(/\Apenstock: .*127\.0\.0\.1:1/, found.err)
    end

    private

    def topics_of_cluster = Admin.open("bootstrap.servers": bootstrap_servers, &:topics)

    Servers = Struct.new(:bootstrap_servers)

    def consumed(topic)
      member = TestSupport::NativeMember.new(Servers.new(bootstrap_servers), topic, group_id: @name, session_timeout_ms: 6_000)
      member.await_assignment(1, 30)
      member
    end
  end
end
