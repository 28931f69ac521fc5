# frozen_string_literal: true

require "test_helper"
require "penstock/application"
require "penstock/application/assigned_partitions"

module Penstock
  class AssignedPartitionsTest < TestCase
    Topic = Struct.new(:id, :copy)
    Routes = Struct.new(:topics)

    def setup
      super
      @orders = Topic.new("app_orders")
      @partitions = Application::AssignedPartitions.new(-> { Routes.new([@orders]) })
    end

    test "partitions of all connections are grouped by the topics of the routes, sorted and without duplicates" do
      found = @partitions.by_topic([[Topic.new("app_orders", 1), 3], [Topic.new("app_orders", 2), 1], [@orders, 3]])

      assert_equal({@orders => [1, 3]}, found)
      assert_same @orders, found.keys.first
    end

    test "a discovered topic, which is in no route, is the same object each time" do
      first = @partitions.by_topic([[Topic.new("app_new", 1), 0]]).keys.first

      assert_same first, @partitions.counts_by_topic([[Topic.new("app_new", 2), 0, 4]]).keys.first
    end

    test "counts are grouped by topic and partition" do
      assert_equal({@orders => {0 => 1, 2 => 5}}, @partitions.counts_by_topic([[@orders, 0, 1], [@orders, 2, 5]]))
    end
  end
end
