# frozen_string_literal: true

require "test_helper"
require "support/routes"

module Penstock
  class SwarmFeatureTest < TestCase
    include RoutesSupport

    def drawn(&block)
      routes do
        topic(:orders) do
          consumer RoutesSupport::Consumer
          instance_exec(&block)
        end
      end
    end

    def nodes(&block)
      value = drawn(&block).find("orders").features[:swarm]
      (0..4).select { |index| value.take?(index) }
    end

    SPLIT = {0 => [1, 0], 1 => 2}.freeze

    def assigned(node, &block)
      groups = drawn(&block).subscription_groups
      groups.map { |group| group.keep(node) { |topic| topic.features[:swarm].take?(node) }.assigned["orders"] }.first
    end

    def wrong(&block) = drawn(&block).problems.map { |problem| plain(problem.to_s) }

    test "[swarm routing] numbers, lists and ranges name the nodes that consume a topic" do
      assert_equal [1], nodes { swarm nodes: 1 }
      assert_equal [0, 2], nodes { swarm nodes: [2, 0] }
      assert_equal [0, 1], nodes { swarm nodes: 0..1 }
      assert_equal [2, 3, 4], nodes { swarm nodes: 2.. }
      assert_nil drawn {}.find("orders").features[:swarm]
      assert drawn { swarm nodes: 1 }.find("orders").features[:swarm].take?(nil), "a process that is no node takes everything"
    end

    test "[swarm direct split] each node assigns its own partitions, a process that isn't a node all of them" do
      route = -> { [assign(0..2), swarm(nodes: SPLIT)] }
      routed = ->(node) { assigned(node) { instance_exec(&route) } }

      assert_equal [[0, 1], [2], nil, [0, 1, 2]], [0, 1, 2, nil].map(&routed)
      assert_empty wrong { instance_exec(&route) }
    end

    test "a partition of no node or of two nodes is refused, and so is an unknown node or partition" do
      found = wrong { [assign(0..3), swarm(nodes: {0 => 0..1, 1 => [1, 2, 9], 7 => [2]})] }

      ["partitions 3 belong to no node", "partitions 9 aren't assigned", "partitions 1, 2 belong to more than one node",
        "gives partitions to 7, and the nodes are 0 to 2"].each { |words| assert_includes found.join, words }
      [[], [true]].each do |whole|
        assert_match(/needs assign with their numbers/, wrong { (assign(*whole) if whole.any?) || swarm(nodes: SPLIT) }.join)
      end
    end

    test "an invalid or unknown node is refused" do
      assert_match(/for nodes \[3\] of the swarm, and there are 3, 0 to 2/, wrong { swarm nodes: 3 }.first)
      [-1, [], "1", 2..1, 0.5..1, nil, {}, {0 => true}, {0 => []}, {"0" => [0]}, {0 => [-1]}].each do |nonsense|
        assert_match(/a node's number/, wrong { swarm nodes: nonsense }.first.to_s, nonsense.inspect)
      end
    end
  end
end
