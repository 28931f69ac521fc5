# frozen_string_literal: true

require "test_helper"
require "penstock/testing/matchers/values"

module Penstock
  class MatcherValuesTest < TestCase
    Values = Testing::Matchers::Values

    test "values match by ===, also inside of Hashes and Arrays" do
      pairs = [[1, 1], [Integer, 3], [/o/, "foo"], [1..3, 2], [->(value) { value > 1 }, 2], [nil, nil], [Values::ANY, nil],
        [{"a" => Integer}, {"a" => 1}], [["a", {"b" => /c/}], ["a", {"b" => "c"}]], [String, "x"], ["é".b, "é"]]
      pairs.each do |expected, actual|
        assert Values.match?(expected, actual), "#{expected.inspect} and #{actual.inspect}"
      end
    end

    test "other values don't" do
      [[1, 2], [Integer, "3"], [nil, false], [{"a" => 1}, {"a" => 1, "b" => 2}], [{"a" => 1, "b" => nil}, {"a" => 1}],
        [{}, nil], [[1], [1, 2]], [[1], 1], ["a", :a], [{a: 1}, {"a" => 1}]].each do |expected, actual|
        refute Values.match?(expected, actual), "#{expected.inspect} and #{actual.inspect}"
      end
    end

    test "a Hash may be a part of another one where that is asked for" do
      assert Values.include?({"a" => /1/}, {"a" => "1", "b" => "2"})
      refute Values.include?({"c" => nil}, {"a" => "1"})
      assert Values.include?(Hash, {"a" => "1"})
    end
  end
end
