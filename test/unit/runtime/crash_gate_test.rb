# frozen_string_literal: true

require "test_helper"
require "penstock/runtime/crash_gate"

module Penstock
  class SuspectGateTest < TestCase
    # A lane's suspects, as far as the gate uses them.
    Suspects = Struct.new(:running) do
      def announced? = running
    end

    def setup
      @gate = Runtime::CrashGate.new
      @lanes = Array.new(3) { Suspects.new(false) }
    end

    def enter(index, prime: false, now: 0) = @gate.enter(@lanes[index], prime, now) { @lanes[index].running = true }

    test "suspects without a counted crash run side by side, one per lane" do
      assert_equal [true, true], [enter(0), enter(1)]
    end

    test "a counted suspect runs when no other suspect does, and none starts meanwhile" do
      enter(0)
      refute enter(1, prime: true)
      refute @lanes[1].running
      @lanes[0].running = false
      assert enter(1, prime: true)
      assert_equal [false, false], [enter(0), enter(2, prime: true)]
      @lanes[1].running = false
      assert enter(2, prime: true)
    end

    test "a suspect that waits to be alone isn't overtaken for ever, and doesn't keep the others out once it is gone" do
      enter(0)
      refute enter(1, prime: true, now: 10)
      refute enter(2, now: 20)
      assert enter(2, now: 1_011)
    end
  end
end
