# frozen_string_literal: true

require "test_helper"
require "json"
require "penstock/swarm/node_identity"

module Penstock
  class NodeIdentityTest < TestCase
    def node(id, pid = nil) = Swarm::NodeIdentity.new(id, pid)

    test "a node of an event has an id and a pid, and stands for its number where one is expected" do
      node = node(1, 4_711)

      assert_equal [1, 1, 4_711], [node.id, node.index, node.pid]
      assert_equal "node 1", "node #{node}"
      assert_equal "#<Penstock::Swarm::NodeIdentity 1 pid 4711>", node.inspect
      assert_equal "[1]", JSON.generate([node])
      assert_equal [:b, :b], [%i[a b][node], {1 => :b}[node]]
    end

    test "it is equal to its number, whichever is compared with the other, and sorted by it" do
      assert_operator node(1, 5), :==, 1
      assert_operator 1, :==, node(1, 5)
      assert_equal node(1, 5), node(1, 6)
      refute_equal node(1), node(2)
      refute_equal node(1), "1"
      assert_includes [0, 2], node(2)
      assert_equal [0, 1, 2], [node(2), 1, node(0)].sort.map(&:to_i)
      assert_equal 1, [node(1, 5), node(1, 6)].uniq.size
    end
  end
end
