# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/testing/memory/instance"
require "penstock/testing/memory/turn"
require "penstock/testing/memory/world"

module Penstock
  class MemoryTurnTest < TestCase
    def setup
      super
      @world = Testing::Memory::World.new(Random.new(1))
      @instance = Testing::Memory::Instance.new(@world)
      @seen = []
    end

    # @return [Turn] that runs the block
    def turn(&) = Testing::Memory::Turn.new(@instance, &).tap { |turn| turn.begin_after(0) }

    def run_all = (nil while @world.step)
    def see(name) = @seen << [@world.timeline.now, name]

    test "code runs on the caller's fiber; while it waits, events happen on top of it" do
      fiber = nil
      @world.timeline.at(5) { see(:event) }
      waiting = turn do
        fiber = Fiber.current
        waiting.sleep_until(10)
        see(:awake)
      end
      run_all
      assert_same Fiber.current, fiber
      assert_equal [[5, :event], [10, :awake]], @seen
    end

    test "it can be woken earlier, not later" do
      waiting = turn do
        waiting.sleep_until(100)
        see(:awake)
      end
      @world.timeline.at(20) { waiting.wake_at(200) }
      @world.timeline.at(30) { waiting.wake_at(40) }
      run_all
      assert_equal [[40, :awake]], @seen
      refute_predicate waiting, :asleep?
    end

    test "an error from outside is raised where it waits" do
      waiting = turn do
        waiting.sleep_until(100)
      rescue Interrupted
        see(:interrupted)
      end
      @world.timeline.at(20) { waiting.raise_in(Interrupted) }
      run_all
      assert_equal [[20, :interrupted]], @seen
    end

    test "after the death of its process nothing but its ensure blocks runs" do
      waiting = turn do
        waiting.sleep_until(100)
        see(:too_late)
      rescue
        see(:rescued)
      ensure
        see(:ensured)
      end
      @world.timeline.at(20) { @instance.crash }
      run_all
      assert_equal [[20, :ensured]], @seen
    end
  end
end
