# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/testing/local_broker"
require "support/free_port"

module Penstock
  module Testing
    # Decides whether an embedded broker is needed, and starts it.
    class LocalBrokerTest < TestCase
      class Consumer < Penstock::BaseConsumer
        def consume = nil
      end

      def setup
        super
        @port = TestSupport::FreePort.take.first
      end

      def teardown
        @cluster&.stop
        super
      end

      def application(servers, **kafka)
        made = Penstock::Application.new("local") { |config| config.kafka = {"bootstrap.servers": servers, **kafka} }
        made.routing.draw do
          topic(:plain) { consumer Consumer }
          topic(:declared) do
            consumer Consumer
            config(partitions: 7)
          end
          pattern(/many/) { consumer Consumer }
        end
        made
      end

      def start(...) = @cluster = LocalBroker.start_for(@application = application(...))

      test "[Puma plugin] a broker starts at the address, with the routes' topics and the settings that it needs" do
        start("localhost:#{@port}")

        assert_equal "127.0.0.1:#{@port}", @cluster.bootstrap_servers
        assert_equal({"plain" => 4, "declared" => 7}, @cluster.topics)
        assert_equal [10, 2_000], @application.config.kafka.values_at(:"fetch.wait.max.ms", :"session.timeout.ms")
        assert_equal "localhost:#{@port}", @application.config.kafka[:"bootstrap.servers"]
        @application.validate!
      end

      test "[Puma plugin] settings of the application's own are kept" do
        start("127.0.0.1:#{@port}", "fetch.wait.max.ms": 77)

        assert_equal 77, @application.config.kafka[:"fetch.wait.max.ms"]
        @application.validate!
      end

      test "[Puma plugin] a group that the broker manages doesn't get settings that only members of classic groups may have" do
        start("127.0.0.1:#{@port}", "group.protocol": "consumer")

        refute @application.config.kafka.key?(:"session.timeout.ms")
        @application.validate!
      end

      test "[Puma plugin] the first address on this machine counts, and one that listens is enough" do
        start("[::1]:#{@port},kafka.invalid:9092")
        assert_equal "127.0.0.1:#{@port}", @cluster.bootstrap_servers

        assert_nil LocalBroker.start_for(application("127.0.0.1:#{@port}"))
        assert_nil LocalBroker.start_for(application("127.0.0.1:#{TestSupport::FreePort.take.first},127.0.0.1:#{@port}"))
      end

      test "[Puma plugin] an address elsewhere, TLS and logins get none" do
        assert_nil start("kafka.invalid:#{@port}")
        assert_nil start("127.0.0.1:#{@port}", "security.protocol": "ssl")
        assert_nil start("127.0.0.1:#{@port}", "security.protocol": "SASL_PLAINTEXT")
      end
    end
  end
end
