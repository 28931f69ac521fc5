# frozen_string_literal: true

require "test_helper"
require "penstock/errors"
require "penstock/runtime/partition_search"

module Penstock
  class PartitionSearchTest < TestCase
    Group = Struct.new(:assigned) do
      def ids = {subscription_group_id: "app"}
    end

    # A cluster whose topics a test changes; records the announced partitions.
    class Driver
      attr_reader :announced, :topics

      def initialize(topics)
        @topics = topics
        @announced = Thread::Queue.new
      end

      def metadata(name, _timeout_ms)
        answer = @topics[name]
        raise answer if answer.is_a?(Exception)
        {topics: answer ? {name => {partitions: Array.new(answer) { |id| [id, {}] }.to_h}} : {}}
      end

      def announce(partitions) = @announced << partitions
    end

    def setup
      @told = Thread::Queue.new
    end

    def emit(name, payload) = @told << [name, *payload.values_at(:topic, :partition, :partitions)]

    # Runs a search until the block has ended.
    def searching(assigned, driver, interval_ms: 10)
      search = Runtime::PartitionSearch.new(Group.new(assigned), driver, self, interval_ms: interval_ms)
      thread = Thread.new { search.run }
      yield thread
    ensure
      search.close
      thread.join(5) or flunk "the search doesn't end"
    end

    def announced(driver)
      wait_until(5, "partitions") { !driver.announced.empty? }
      driver.announced.pop
    end

    test "the search ends when every named partition was found" do
      driver = Driver.new("a" => 4, "b" => 1)
      searching({"a" => [1, 3], "b" => [0]}, driver) do |thread|
        assert_equal [[["a", 1], ["a", 3]], [["b", 0]]], [announced(driver), announced(driver)]
        assert thread.join(5)
      end
      assert_empty @told
    end

    test "where all partitions are wanted, added ones are announced alone" do
      driver = Driver.new("a" => 2)
      searching({"a" => :all}, driver) do
        assert_equal [["a", 0], ["a", 1]], announced(driver)
        driver.topics["a"] = 3
        assert_equal [["a", 2]], announced(driver)
      end
      assert_empty @told
    end

    test "a missing partition is reported once and found later; a missing topic is reported elsewhere" do
      driver = Driver.new("a" => 1)
      searching({"a" => [0, 1], "b" => [0]}, driver) do
        assert_equal [["a", 0]], announced(driver)
        wait_until(5, "the missing one") { !@told.empty? }
        driver.topics.update("a" => 2, "b" => 1)
        assert_equal [[["a", 1]], [["b", 0]]], [announced(driver), announced(driver)]
      end
      assert_equal [["connection.partition_missing", "a", 1, 1]], Array.new(@told.size) { @told.pop }
    end

    test "an error is reported once, and doesn't end the search" do
      driver = Driver.new("a" => KafkaError.build(number: -199, name: "_BAD_MSG"))
      searching({"a" => :all}, driver) do
        wait_until(40, "the error") { !@told.empty? }
        observe_for(0.1)
        driver.topics["a"] = 1
        assert_equal [["a", 0]], announced(driver)
      end
      assert_equal [["error.occurred", nil, nil, nil]], Array.new(@told.size) { @told.pop }
    end

    test "a broker that can't be reached is asked again, and a closed connection ends the search" do
      driver = Driver.new("a" => KafkaError.build(number: -195, name: "_TRANSPORT"))
      searching({"a" => :all}, driver) do |thread|
        observe_for(0.1)
        driver.topics["a"] = 1
        assert_equal [["a", 0]], announced(driver)
        driver.topics["a"] = HandleClosedError.new("closed")
        assert thread.join(5)
      end
    end
  end
end
