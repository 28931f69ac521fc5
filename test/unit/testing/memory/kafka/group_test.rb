# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/testing/memory/kafka/driver"
require "penstock/testing/memory/kafka/timeline"

module Penstock
  # Members that are removed while they join: the in-memory group loses none of them, and counts none twice.
  class MemoryGroupTest < TestCase
    def setup
      super
      random = Random.new(1)
      @cluster = Testing::Memory::Kafka::Cluster.new(Testing::Memory::Kafka::Timeline.new(random), random)
      @cluster.create_topic("topic", 1)
      @cluster.create_group("group", :cooperative)
    end

    def client(name)
      Testing::Memory::Kafka::Driver.new(@cluster, "group", name: name).tap { |member| member.subscribe(["topic"]) }
    end

    # Answers every rebalance until nothing has happened for this long.
    def settle(driver, quiet_ms = 2_000)
      while driver.wait(quiet_ms)
        while (event = driver.poll_event)
          driver.answer if %i[assign revoke].include?(event[0])
        end
      end
    end

    test "a client that is removed while its JoinGroup is in flight is one member afterwards" do
      driver = client("first")
      settle(driver)
      driver.commits.cut(@cluster.timeline.now + 1_000)
      driver.group.rebalance
      driver.wait(500)
      assert_predicate driver, :joining?
      driver.group.silent(driver)
      settle(driver)
      assert_equal 1, driver.group.members.size
      assert_equal [["topic", 0]], driver.assigned
    end

    test "an assignment of the generation before, which arrives when the member has joined again, is discarded" do
      driver = client("first")
      driver.wait(0) until driver.joining?
      driver.assigned_by_group([["topic", 0]])
      assert_nil driver.poll_event
      settle(driver)
      assert_equal [["topic", 0]], driver.assigned
    end

    test "a new member that is removed while it waits for the others joins again" do
      first = client("first")
      settle(first)
      second = client("second")
      second.wait(50) # the first hasn't come back yet
      second.group.silent(second)
      settle(second, 500)
      second.group.silent(first)
      settle(second)
      assert_equal [["topic", 0]], second.assigned
    end
  end
end
