# frozen_string_literal: true

require "test_helper"
require "logger"
require "stringio"
require "support/own_process"
require "support/old_broker"
require "penstock"
require "penstock/application"
require "penstock/consumer/base_consumer"
require "penstock/runtime/group_protocol"

module Penstock
  class GroupProtocolTest < TestCase
    prepend TestSupport::OwnProcess

    FETCH = 1
    HEARTBEAT = 68

    def requests(newest)
      broker = TestSupport::OldBroker.new(newest)
      yield broker.bootstrap_servers
    ensure
      broker&.close
    end

    def ask(servers, **more)
      Runtime::BrokerRequests.fetch({"bootstrap.servers" => servers, "group.id" => "g", "group.protocol" => "consumer",
        **more.transform_keys(&:to_s)})
    end

    def application(servers)
      @log = StringIO.new
      log = @log
      Application.new("old") do |config|
        config.kafka = {"bootstrap.servers": servers, "group.protocol": "consumer"}
        config.logger = Logger.new(log)
      end.tap { |made| made.routing.draw { topic("orders") { consumer Class.new(BaseConsumer) { def consume = nil } } } }
    end

    test "which Kafka a broker is follows from the requests that it answers" do
      assert_equal ["3.7 or 3.8", false], requests(FETCH => 16, HEARTBEAT => 0) { |servers|
        found = ask(servers)
        [found.kafka_version, found.consumer_protocol?]
      }
      versions = {10 => "2.2 or older", 12 => "2.7 to 3.0", 14 => "3.5 or 3.6", 17 => "3.9"}
      assert_equal versions, versions.to_h { |fetch, _| [fetch, Runtime::BrokerRequests.new({FETCH => fetch}).kafka_version] }
      assert_equal "4.0 or newer", Runtime::BrokerRequests.new({FETCH => 17, HEARTBEAT => 1}).kafka_version
    end

    test "an application whose brokers are too old for group.protocol: consumer doesn't start" do
      message = requests(FETCH => 12) do |servers|
        assert_raises(ConfigurationError) { application(servers).run!(traps: false) }.message.sub(servers, "BROKER")
      end
      assert_equal "config.kafka: group.protocol: consumer (KIP-848) needs Kafka 4.0 or newer, but the broker at BROKER is " \
                   "Kafka 2.7 to 3.0. Remove group.protocol from config.kafka, or upgrade all brokers first", message
    end

    test "properties that only members with group.protocol: consumer may have are no reason not to ask" do
      found = requests(FETCH => 17, HEARTBEAT => 1) do |servers|
        ask(servers, "max.poll.interval.ms": "9000", "group.remote.assignor": "uniform", "group.instance.id": "one")
      end
      assert found.consumer_protocol?
    end

    test "a token provider that blocks is no answer of a broker" do
      asked = false
      blocking = Object.new
      blocking.define_singleton_method(:on_oauthbearer_token_refresh) { |_event| (asked = true) && Thread.stop }
      properties = {"bootstrap.servers" => "127.0.0.1:1", "group.id" => "g", "security.protocol" => "sasl_plaintext",
                    "sasl.mechanism" => "OAUTHBEARER"}
      assert_nil Runtime::BrokerRequests.fetch(properties, timeout_ms: 300, token_provider: blocking)
      assert asked
    end

    test "a broker that isn't reachable is no reason not to start: the log reports the missing check" do
      assert_nil ask("127.0.0.1:1")
      groups = application("127.0.0.1:1").routes.subscription_groups
      Runtime::GroupProtocol.check!(groups, ->(_) { {} }, Logger.new(@log), ->(_) {})
      assert_match(/could not check whether the brokers at 127.0.0.1:1 have group.protocol: consumer/, @log.string)
    end

    test "each cluster is asked once, and none for classic groups" do
      drawn = application("127.0.0.1:1")
      drawn.routing.draw do
        3.times do |number|
          consumer_group("g#{number}") { topic("t") { consumer Class.new(BaseConsumer) { def consume = nil } } }
        end
        consumer_group("classic") do
          topic("t") do
            consumer Class.new(BaseConsumer) { def consume = nil }
            kafka("bootstrap.servers": "127.0.0.1:2")
          end
        end
      end
      asked = []
      Runtime::GroupProtocol.check!(drawn.routes.subscription_groups, lambda(&:id), Logger.new(nil), ->(id) {
        asked << id
        Runtime::BrokerRequests.new({HEARTBEAT => 1})
      })
      assert_equal 1, asked.size
    end

    test "a refusal by a broker that knows the protocol names how to switch it on" do
      group = application("kafka:9092").routes.subscription_groups.first
      text = Runtime::GroupProtocol.refused(group, Runtime::BrokerRequests.new({HEARTBEAT => 1})).message
      assert_includes text, "switched off on the brokers at kafka:9092 (Kafka 4.0 or newer)"
      assert_includes text, "group.version=1"
      assert_includes Runtime::GroupProtocol.refused(group, nil).message, "(or they are older than Kafka 4.0)"
      old = Runtime::BrokerRequests.new({FETCH => 13})
      assert_includes Runtime::GroupProtocol.refused(group, old).message, "is Kafka 3.1 to 3.4"
    end
  end
end
