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

    def wrong(&block) = drawn(&block).problems.map { |problem| plain(problem.to_s) }

    test "[swarm routing] numbers, lists and ranges name the nodes that consume a topic" do
      assert_equal [1], nodes { swarm nodes: 1 }
      assert_equal [0, 2], nodes { swarm nodes: [2, 0] }
      assert_equal [0, 1], nodes { swarm nodes: 0..1 }
      assert_equal [2, 3, 4], nodes { swarm nodes: 2.. }
      assert_nil drawn {}.find("orders").features[:swarm]
      assert drawn { swarm nodes: 1 }.find("orders").features[:swarm].take?(nil), "a process that is no node takes everything"
    end

    test "what is no node, or none of those there are, is refused" do
      assert_match(/for nodes \[3\] of the swarm, and there are 3, 0 to 2/, wrong { swarm nodes: 3 }.first)
      [-1, [], "1", 2..1, 0.5..1, nil].each do |nonsense|
        assert_match(/a node's number/, wrong { swarm nodes: nonsense }.first.to_s, nonsense.inspect)
      end
    end
  end
end
