# frozen_string_literal: true

require "test_helper"
require "penstock"
require "penstock/testing/memory/instance"
require "penstock/testing/memory/world"

module Penstock
  class MemorySleeperTest < TestCase
    def setup
      super
      @world = Testing::Memory::World.new(Random.new(1))
      @instance = Testing::Memory::Instance.new(@world)
      @seen = []
    end

    def run_all = (nil while @world.step)
    def see(name) = @seen << [@world.timeline.now, name]

    test "several fibers wait at the same time, and each resumes at its own" do
      2.times { |number| @instance.aside { |nap| 2.times { nap.call(10 + number).then { see(number) } } } }
      run_all
      assert_equal [[10, 0], [11, 1], [20, 0], [22, 1]], @seen
    end

    test "it can be woken earlier, and an error can be raised in it" do
      sleeper = @world.sleeper(@instance) do
        sleeper.sleep_until(100)
        see(:woken)
        sleeper.sleep_until(200)
      rescue Interrupted
        see(:interrupted)
      end
      sleeper.begin_now
      @world.timeline.at(10) { sleeper.wake_at(20) }
      @world.timeline.at(30) { sleeper.raise_in(Interrupted) }
      run_all
      assert_equal [[20, :woken], [30, :interrupted]], @seen
      refute_predicate sleeper, :alive?
    end

    test "if it is ended because its process has died, blocks of ensure run, and nothing else" do
      sleeper = @instance.aside do |nap|
        nap.call(10)
        see(:alive)
      ensure
        see(:ensured)
      end
      @world.timeline.at(5) { @instance.crash && sleeper.crash }
      run_all
      assert_equal [[[5, :ensured]], true, false], [@seen, sleeper.ended?, sleeper.alive?]
    end

    test "it never resumes after its process has died" do
      @instance.aside { |nap| nap.call(10).then { see(:alive) } }
      @world.timeline.at(5) { @instance.crash }
      run_all
      assert_empty @seen
    end
  end
end
