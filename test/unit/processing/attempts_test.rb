# frozen_string_literal: true

require "test_helper"
require "penstock/processing/attempts"

module Penstock
  class AttemptsTest < TestCase
    test "a new incarnation forgets the counts, and nothing is left to write; how long adopted records wait stays known" do
      attempts = Processing::Attempts.new
      attempts.adopt({3 => 2}, 500)
      assert_equal [2, false], [attempts.of(3), attempts.changed?]
      attempts.fail(3)
      attempts.clear
      assert_equal [0, false, false, 500], [attempts.of(3), attempts.any?, attempts.changed?, attempts.adopted_until]
    end
  end
end
