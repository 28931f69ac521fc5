# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/cli/boot"
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
    Application = Struct.new(:routes) do
      def validate! = self
    end

    def shown(*argv, &draw)
      boot = Struct.new(:application).new(Application.new(routes(&draw)))
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

    test "as JSON a topic has its limits and its partitions, and a group its connections" do
      groups = JSON.parse(shown("--json", &ROUTES))
      assert_equal %w[shop wide fixed], groups.map { |group| group["id"] }
      shop, wide, fixed = groups.map { |group| group["subscription_groups"].first }
      assert_equal [nil, 4], [shop["connections"], wide["connections"]["max"]]
      assert_equal ["orders", "RoutesSupport::Consumer", true, 100, "earliest", nil, false], shop["topics"][0].values
      assert_equal [true, [0, 2]], [shop["topics"][1]["manual_offset_management"], fixed["topics"][0]["assigned"]]
    end
  end
end
