# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/cli/boot"
require "penstock/cli/route_options"
require "support/commands"
require "support/routes"

module Penstock
  # `penstock routes`: groups, connections and topics, as the server will use them.
  class RoutesCommandTest < TestCase
    include TestSupport::Commands
    include RoutesSupport

    ROUTES = proc do
      consumer_group(:shop) do
        topic(:orders) { consumer RoutesSupport::Consumer }
        topic(:manual) { [consumer(RoutesSupport::Consumer), manual_offset_management(true)] }
        topic(:only_produced) { active false }
      end
      consumer_group(:wide) do
        subscription_group(:g) { [multiplexing(min: 2, max: 4), topic(:clicks) { consumer RoutesSupport::OtherConsumer }] }
      end
      consumer_group(:fixed) { topic(:parts) { [consumer(RoutesSupport::Consumer), assign(0, 2)] } }
    end

    # An application of which only the routes are asked for.
    Application = Struct.new(:config, :routes) do
      def validate! = self
    end

    def shown(*argv, &draw)
      settings = settings()
      boot = Struct.new(:application).new(Application.new(settings, routes(settings, &draw)))
      replacing(CLI::Boot, boot) { penstock("routes", *argv) }.out
    end

    test "each group lists its connections, and each connection its topics with what is special about them" do
      assert_equal <<~TEXT, shown(&ROUTES)
        shop
          shop_default_0
            orders → RoutesSupport::Consumer
            manual → RoutesSupport::Consumer (manual offsets)
            only_produced → no consumer (not active)
        wide
          wide_g_1 (2 to 4 connections)
            clicks → RoutesSupport::OtherConsumer
        fixed
          fixed_default_2
            parts → RoutesSupport::Consumer (assigned: 0, 2)
      TEXT
    end

    class Upcase
      def call(message) = message.raw_payload.upcase
    end

    class Factory
      def self.call(_topic, _partition) = nil
    end

    OPTIONS = proc do
      topic(:orders) do
        consumer RoutesSupport::Consumer
        max_messages 500
        batch min: 200
        parallel by: :key, max_partitions: 3
        dead_letter_queue topic: "orders.dead", max_retries: 2, dispatch_method: :produce_sync
        workers max: 2, weight: 1
        throttle limit: 10, interval: 1_000
        filter { |message| message.key }
        filter Factory
        backoff_for IOError, timeout: 5_000
        breaker false
        eofed
        deserializers payload: Upcase.new
        kafka({"bootstrap.servers": "a:1", "sasl.password": "secret"}, inherit: true)
        config partitions: 6, "cleanup.policy": "compact"
      end
    end

    test "below a topic are its options that differ from the defaults, as the route has them" do
      lines = shown(&OPTIONS).lines(chomp: true)[2..]
      assert_equal "    orders → RoutesSupport::Consumer (parallel by key, dead letters to orders.dead after 2 retries)",
        lines.shift
      assert_equal <<~TEXT.lines(chomp: true).sort, lines.map(&:strip).sort
        max_messages 500
        batch min: 200, within: 1000
        parallel max_partitions: 3
        dead_letter_queue dispatch_method: "produce_sync"
        workers 2
        throttle limit: 10, interval: 1000
        filter keep: a callable
        filter Penstock::RoutesCommandTest::Factory
        backoff_for [IOError], timeout: 5000
        breaker false
        eofed
        deserializers an object of Penstock::RoutesCommandTest::Upcase
        kafka "bootstrap.servers": "a:1", "sasl.password": "[hidden]", inherit: true
        config partitions: 6, "cleanup.policy": "compact"
      TEXT
    end

    test "as JSON a topic has its options by verb" do
      options = JSON.parse(shown("--json", &OPTIONS)).dig(0, "subscription_groups", 0, "topics", 0, "options")
      assert_equal [{"min" => 200, "within" => 1_000}, 500, false, true],
        options.values_at("batch", "max_messages", "breaker", "eofed")
      assert_equal [{"keep" => "a callable"}, {"factory" => "Penstock::RoutesCommandTest::Factory"}], options["filter"]
    end

    test "a topic that sets nothing has no options" do
      bare = routes(settings) { topic(:orders) { consumer RoutesSupport::Consumer } }.topics.first
      assert_empty CLI::RouteOptions.new(settings).of(bare)
    end

    test "retry topics, those of delayed messages and patterns are marked as such, and the first two repeat no options" do
      lines = shown do
        topic(:orders) { [consumer(RoutesSupport::Consumer), retry_topics(delays: [5_000], finally: "dead")] }
        delay_topics
        pattern(/audit\..*/) { consumer RoutesSupport::Consumer }
      end.lines.map(&:strip)
      assert_includes lines, "orders.retry.1 → RoutesSupport::Consumer (retry 1 of orders, after 5000 ms)"
      assert_includes lines, "app.delay.1 → no consumer (delayed messages, for 1000 ms, dead letters to app.delay.dead as its " \
                             "strategy decides)"
      assert_equal 1, lines.grep("retry_topics delays: [5000], finally: \"dead\"").size
      assert_equal 1, lines.grep(/topics that match .*audit/).size
    end

    test "as JSON a topic has its limits and its partitions, and a group its connections" do
      groups = JSON.parse(shown("--json", &ROUTES))
      assert_equal %w[shop wide fixed], groups.map { |group| group["id"] }
      shop, wide, fixed = groups.map { |group| group["subscription_groups"].first }
      assert_equal [nil, 4], [shop["connections"], wide["connections"]["max"]]
      assert_equal ["orders", "RoutesSupport::Consumer", true, 100, "earliest", nil, false, {}], shop["topics"][0].values
      assert_equal [true, [0, 2]], [shop["topics"][1]["manual_offset_management"], fixed["topics"][0]["assigned"]]
    end
  end
end
