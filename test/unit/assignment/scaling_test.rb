# frozen_string_literal: true

require "test_helper"
require "penstock/assignment/scaling"

module Penstock
  class ScalingTest < TestCase
    Multiplexing = Struct.new(:min, :max, :boot, :scale_delay)
    Connection = Assignment::Scaling::Connection

    def scaling(min: 1, max: 3, delay: 1_000)
      @now = 0
      @scaling = Assignment::Scaling.new(Multiplexing.new(min, max, min, delay), 0)
    end

    # The decision after connections have had these numbers of partitions for a while.
    # @param partitions [Array<Integer, nil>] by number of the connection; nil if there is none
    def decided(*partitions, after: 1_000, settled: true)
      connections = partitions.each_with_index.filter_map { |count, number| Connection.new(number, count, settled) if count }
      @scaling.call(connections.map(&:dup), @now)
      @scaling.call(connections, @now += after).tap { |decision| @scaling.changed(@now) if decision }
    end

    test "[multiplexing dynamic] a group is scaled up and down by one per delay, never below min or above max" do
      scaling
      assert_nil decided(4, after: 999)
      assert_equal [:up, 1], decided(4, after: 1)
      assert_nil decided(2, 2, after: 999)
      assert_equal [:up, 2], decided(2, 2, after: 1)
      assert_nil decided(2, 1, 1, after: 20_000)
      assert_equal [:down, 2], decided(1, 0, 0)
      assert_equal [:down, 0], decided(0, 1)
      assert_nil decided(0, after: 20_000)
    end

    test "a new connection gets the lowest free number" do
      scaling
      assert_equal [:up, 1], decided(2, nil, 1)
    end

    test "nothing changes during a rebalance, nor before partitions have stopped moving" do
      scaling
      assert_nil decided(4, settled: false, after: 20_000)
      assert_nil decided(2, 0, after: 999)
      assert_nil decided(1, 1, after: 20_000)
      scaling(delay: 60_000)
      assert_nil decided(1, 1, after: 55_000)
      assert_nil decided(2, 0, after: 9_999)
      assert_equal [:down, 1], decided(2, 0, after: 1)
    end

    test "a change of another group of the same members restarts the delay, but isn't this group's own change" do
      scaling
      @scaling.disturbed(5_000)
      assert_nil decided(4, after: 5_999)
      assert_equal 0, @scaling.changed_at
      assert_equal [:up, 1], decided(4, after: 1)
    end

    test "a connection that turned out useless isn't tried again until the number of partitions changes, or for a long time" do
      scaling
      assert_equal [:down, 1], decided(2, 0)
      assert_nil decided(2)
      assert_equal [:up, 1], decided(3)
      scaling
      assert_equal [:down, 1], decided(2, 0)
      assert_equal [:up, 1], decided(2, after: 10_000)
    end

    test "fewer connections than the useless number are tried" do
      scaling(max: 4)
      assert_equal [:down, 2], decided(1, 1, 0)
      assert_equal [:up, 1], decided(2)
    end
  end
end
