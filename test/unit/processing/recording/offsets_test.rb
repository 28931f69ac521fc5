# frozen_string_literal: true

require "test_helper"
require "penstock/processing/recording/offsets"

module Penstock
  class RecordingOffsetsTest < TestCase
    Offsets = Processing::Recording::Offsets

    test "offsets are restored from their rows, regardless of their distance" do
      [[0], [7, 8, 9], (100...900).to_a, [5, 64, 65, 364, 365, 366, 10_000_000_000], (0...2_000).step(3).to_a].each do |offsets|
        assert_equal(offsets, Offsets.rows(offsets).flat_map { |row| Offsets.of(row) })
      end
    end

    test "a row fits in an entry, and its numbers need no heap memory" do
      rows = Offsets.rows((1_000...2_000).to_a)
      assert_equal 7, rows.map(&:size).max
      assert_operator rows.flatten.max, :<, 2**62
      assert_equal 3, rows.size
    end

    test "no offsets have no rows" do
      assert_empty Offsets.rows([])
      assert_empty Offsets.of([])
    end
  end
end
