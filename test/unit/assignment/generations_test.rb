# frozen_string_literal: true

require "test_helper"
require "penstock/assignment/generations"

module Penstock
  class GenerationsTest < TestCase
    Topic = Struct.new(:id)
    A, B = Topic.new("a"), Topic.new("b")

    test "[assignments/generations] the number grows with each assignment, and is 0 before the first" do
      generations = Assignment::Generations.new
      assert_equal [1, 2, 1], [[A, 0], [A, 0], [A, 1]].map { |topic, partition| generations.assigned(topic, partition) }
      assert_equal [2, 1, 0], [[A, 0], [A, 1], [B, 0]].map { |topic, partition| generations.of(topic, partition) }
      assert_equal [[A, 0, 2], [A, 1, 1]], generations.to_a
    end

    test "the partitions whose assignment is the oldest are forgotten first" do
      generations = Assignment::Generations.new(2)
      [0, 1, 0, 2].each { |partition| generations.assigned(A, partition) }

      assert_equal [[A, 0, 2], [A, 2, 1]], generations.to_a
    end
  end
end
