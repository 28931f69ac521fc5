# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/testing/memory/kafka/timeline"

module Penstock
  class MemoryTimelineTest < TestCase
    def setup
      super
      @timeline = Testing::Memory::Kafka::Timeline.new(Random.new(1))
      @seen = []
    end

    def see(time, name) = @timeline.at(time) { @seen << [@timeline.now, name] }

    test "blocks run in the order of their times, and the time is theirs" do
      see(20, :late)
      see(10, :early)
      @timeline.after(15) { see(0, :overdue) }
      nil while @timeline.step
      assert_equal [[10, :early], [15, :overdue], [20, :late]], @seen
    end

    test "a cancelled block doesn't run" do
      key = see(10, :cancelled)
      see(20, :other)
      @timeline.cancel(key)
      assert_equal 20, @timeline.next_at
      nil while @timeline.step
      assert_equal [[20, :other]], @seen
    end

    test "time passes no further than to the next block" do
      see(10, :block)
      @timeline.pass_to(50)
      assert_equal 10, @timeline.now
      @timeline.step
      @timeline.pass_to(50)
      assert_equal 50, @timeline.now
    end

    test "blocks of the same time run in the same order with the same seed" do
      orders = Array.new(2) do
        timeline = Testing::Memory::Kafka::Timeline.new(Random.new(7))
        seen = []
        20.times { |number| timeline.at(5) { seen << number } }
        nil while timeline.step
        seen
      end
      assert_equal(*orders)
      refute_equal (0...20).to_a, orders.first
    end
  end
end
