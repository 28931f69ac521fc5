# frozen_string_literal: true

require "test_helper"
require "penstock/native/stats_changes"

module Penstock
  module Native
    class StatsChangesTest < TestCase
      def changes(current, previous, elapsed = 100) = StatsChanges.call(current, previous, elapsed, {})

      test "each number gets its change and the time without one, at any depth; what isn't a number is left as it is" do
        before = changes({"a" => 1, "b" => {"c" => 5, "d" => "x", "e" => nil, "f" => [1]}}, nil)
        assert_equal [0, 0], before["b"].values_at("c_d", "c_fd")

        after = changes({"a" => 3, "b" => {"c" => 5, "d" => "y", "e" => true, "f" => [2]}}, before)
        assert_equal({"a" => 3, "a_d" => 2, "a_fd" => 0,
                      "b" => {"c" => 5, "c_d" => 0, "c_fd" => 100, "d" => "y", "e" => true, "f" => [2]}}, after)
      end

      test "floats, integers of any size, and a number that replaces something else" do
        before = changes({"float" => 1.5, "mixed" => 1, "large" => 1 << 70, "border" => -(1 << 62), "text" => "1", "old" => 1},
          nil)
        after = changes({"float" => 1.25, "mixed" => 1.0, "large" => 1 + (1 << 70), "border" => (1 << 62) - 1, "text" => 2},
          before)

        assert_equal [-0.25, 0, 0.0, 100], after.values_at("float_d", "float_fd", "mixed_d", "mixed_fd")
        assert_equal [1, 0, (1 << 63) - 1, 0], after.values_at("large_d", "large_fd", "border_d", "border_fd")
        assert_equal [0, 0, false], [*after.values_at("text_d", "text_fd"), after.key?("old_d")]
      end

      test "a listener may change what it was given: what is missing there starts again" do
        before = changes({"a" => 1, "b" => {"c" => 1}, "d" => {"e" => 1}}, nil)
        before.delete("a_fd")
        before["b"] = 7
        before["d"].clear
        after = changes({"a" => 1, "b" => {"c" => 1}, "d" => {"e" => 2}}, before)

        assert_equal [0, 100, 0, 0], [*after.values_at("a_d", "a_fd"), *after["b"].values_at("c_d", "c_fd")]
        assert_equal [0, 0], after["d"].values_at("e_d", "e_fd")
      end

      test "the names of the values are the caller's, built once a key, and frozen" do
        names = {}
        StatsChanges.call({"a" => 1, "b" => {"a" => 1}}, nil, 0, names)

        assert_equal({"a" => %w[a_d a_fd]}, names)
        assert names["a"].all?(&:frozen?)
        assert_equal [Encoding::UTF_8], StatsChanges.call({"ü" => 1}, nil, 0, names).keys.map(&:encoding).uniq
      end

      test "what can't be statistics is refused" do
        [[1, nil, 0, {}], [{}, nil, 0, nil], [{1 => 1}, nil, 0, {}]].each do |arguments|
          assert_raises(TypeError) { StatsChanges.call(*arguments) }
        end
      end

      test "property: the values are those of the rule, for any trees" do
        200.times do |seed|
          random = Random.new(seed)
          previous = expected = nil
          4.times do
            tree = tree(random, 3)
            expected = by_rule(copy(tree), expected, 50)
            previous = changes(tree, previous, 50)

            assert_equal expected, previous, "seed #{seed}"
          end
        end
      end

      private

      def tree(random, depth)
        Array.new(random.rand(8)) { "k#{random.rand(6)}" }.to_h { |key| [key, value(random, depth)] }
      end

      def value(random, depth)
        case random.rand(5)
        when 0 then tree(random, depth - 1) if depth.positive?
        when 1 then "text"
        when 2 then random.rand(3) / 2.0
        else random.rand(3)
        end
      end

      def copy(tree) = tree.transform_values { |value| value.is_a?(Hash) ? copy(value) : value }

      # The rule, written plainly.
      def by_rule(current, previous, elapsed)
        current.to_a.each do |key, value|
          before = previous[key] if previous.is_a?(Hash)
          by_rule(value, before, elapsed) if value.is_a?(Hash)
          next unless value.is_a?(Numeric)
          changed = before.is_a?(Numeric) ? value - before : 0
          current["#{key}_d"] = changed
          current["#{key}_fd"] = (before.is_a?(Numeric) && changed.zero?) ? previous["#{key}_fd"] + elapsed : 0
        end
        current
      end
    end
  end
end
