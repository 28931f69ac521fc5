# frozen_string_literal: true

require "test_helper"
require "minitest/mock"
require "penstock"
require "penstock/testing/memory/runner"

module Penstock
  class MemoryOutsideTimeTest < TestCase
    START = Time.at(1_700_000_000)

    # Ruby's time and the machine's, in seconds from the start.
    def at(time, machine, frozen: true)
      readings = frozen ? ->(*) { START + time } : -> { START + (time += 0.000001) }
      Clock.stub(:seconds, machine.to_f) { Time.stub(:now, readings) { yield } }
    end

    test "time that a test skips counts, however long the test itself takes" do
      outside = at(0, 0, frozen: false) { Testing::Memory::Runner::OutsideTime.new }
      assert_equal 0, at(2, 2, frozen: false) { outside.skipped_ms }
      assert_in_delta 600_000, at(602, 2) { outside.skipped_ms }, 1
      assert_equal 0, at(602, 9) { outside.skipped_ms }
      assert_equal 1_000, at(603, 20) { outside.skipped_ms }
    end

    test "a step back doesn't count, and skips after it count again" do
      outside = at(600, 0) { Testing::Memory::Runner::OutsideTime.new }
      assert_equal 0, at(1, 1, frozen: false) { outside.skipped_ms }
      assert_in_delta 60_000, at(61, 1, frozen: false) { outside.skipped_ms }, 1
    end
  end
end
