# frozen_string_literal: true

require "test_helper"
require "penstock/doubling"

module Penstock
  class DoublingTest < TestCase
    test "the wait doubles with each failure up to its maximum, however many there are" do
      assert_equal [500, 1_000, 2_000, 30_000, 30_000], [0, 1, 2, 6, 10_000].map { |times| Doubling.wait(500, times, 30_000) }
    end

    test "before the first doubling it is the first wait, and never more than the maximum" do
      assert_equal [500, 300], [Doubling.wait(500, -1, 30_000), Doubling.wait(500, 0, 300)]
    end
  end
end
