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

    test "the back-off of a record is known until the record is complete, or a new incarnation begins" do
      attempts = Processing::Attempts.new
      [->(_offset) { attempts.clear }, ->(offset) { attempts.forget(offset) },
        ->(offset) { attempts.complete_through(offset + 1) }].each do |ending|
        attempts.fail(3)
        attempts.wait(3, 70)
        assert_equal [70, 0], [attempts.waited(3), attempts.waited(4)]
        ending.call(3)
        assert_equal 0, attempts.waited(3)
      end
    end
  end
end
