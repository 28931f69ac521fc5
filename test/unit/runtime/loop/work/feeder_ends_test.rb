# frozen_string_literal: true

require "test_helper"
require "support/all_active"
require "support/lanes"
require "penstock/runtime/loop/work/feeder"
require "penstock/execution/run_queue"

module Penstock
  # Which call announces the end of a partition in order: the one that has its last record, or the hook.
  class FeederEndsTest < TestCase
    include TestSupport::Lanes

    Unit = Struct.new(:messages, :rest, :runs, :action) do
      def consume? = action == :consume
      def runs? = runs
    end
    Part = Struct.new(:end) do
      def at_end? = self.end
    end

    def setup
      super
      @lane = lane(route, committed: 0)
      @feeder = Runtime::Feeder.new(nil, {}, Ports.new, nil, nil)
      @feeder.instance_variable_get(:@pending_ends)[@lane] = @lane.incarnation
    end

    def pending_after(last: false, rest: nil, runs: true, action: :consume)
      @feeder.handed_out(@lane, Unit.new(Part.new(last), rest && Part.new(rest), runs, action))
      @feeder.ends_pending?
    end

    test "a unit with the last record announces the end" do
      assert pending_after
      refute pending_after(last: true)
    end

    test "so does one whose last call has it" do
      assert pending_after(rest: false)
      refute pending_after(rest: true)
    end

    test "a unit that isn't run, and a hook, announce nothing" do
      assert pending_after(last: true, runs: false)
      assert pending_after(last: true, action: :eofed)
    end

    test "where keys run in parallel, the hook announces it" do
      @lane.define_singleton_method(:by_key?) { true }
      assert pending_after(last: true)
    end
  end
end
