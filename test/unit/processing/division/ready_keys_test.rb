# frozen_string_literal: true

require "test_helper"
require "penstock/processing/division/key_run"
require "penstock/processing/division/ready_keys"

module Penstock
  class ReadyKeysTest < TestCase
    def setup = @keys = Processing::Division::ReadyKeys.new

    def run_of(key, again: false)
      Processing::Division::KeyRun.new(key).tap do |run|
        run.add("a record")
        run.again = again
      end
    end

    test "first come, first served; keys that run again are counted apart, whenever that becomes known" do
      first, second, third = run_of("a"), run_of("b", again: true), run_of("c")
      [first, second, third].each { |run| @keys.push(run) }
      assert_equal [3, 2, true], [@keys.size, @keys.fresh, @keys.fresh_ready?]
      2.times { @keys.again(first) }
      assert_equal 1, @keys.fresh

      assert_equal([first, second], Array.new(2) { @keys.shift })
      assert_equal [1, 1, false], [@keys.size, @keys.fresh, first.queued]
    end

    test "a key is taken out from any place, once" do
      runs = %w[a b c].map { |key| run_of(key, again: key == "b") }
      runs.each { |run| @keys.push(run) }
      2.times { @keys.delete(runs[1]) }
      @keys.delete(runs[2])

      assert_equal [1, 1, runs[0]], [@keys.size, @keys.fresh, @keys.first]
    end

    test "keys that may not run now are passed over at the front, and aren't ready" do
      parked, other = run_of("a"), run_of("b", again: true)
      [parked, other].each { |run| @keys.push(run) }
      parked.parked = :retry
      assert_equal [true, false], [@keys.any_ready?, @keys.fresh_ready?]
      @keys.tidy
      assert_equal [other, 0, false], [@keys.first, @keys.fresh, parked.queued]
      @keys.clear

      assert_equal [0, 0, false, false], [@keys.size, @keys.fresh, other.queued, @keys.any_ready?]
    end
  end
end
