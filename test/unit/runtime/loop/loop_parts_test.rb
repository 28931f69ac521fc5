# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/runtime/loop/loop_parts"

module Penstock
  # The end of a connection's parts.
  class LoopPartsTest < TestCase
    include TestSupport::Lanes

    CLOSED = %i[dead_letters breakers committer slots].freeze

    # A part that records that it was closed.
    Part = Struct.new(:name, :closed) do
      def close = closed << name
    end

    # The lanes of a connection; one of them can't be called back.
    Connection = Struct.new(:lanes, :removed, :bad) do
      def all = lanes.dup
      def remove(lane) = removed << lane

      def call_back(lane)
        raise IOError, "simulated" if lane.equal?(bad)
      end
    end

    # The hooks, and whether the stop is done.
    Hooks = Struct.new(:late_ones, :done) do
      def run_when_idle(action, lane) = late_ones << [action, lane]
      def done? = done
    end

    # Emits that the partitions are about to be revoked.
    Rebalances = Struct.new(:left) do
      def leaving(**how) = left << how
    end

    def parts(lanes, bad: nil, stopped: false)
      @connection = Connection.new(lanes, [], bad)
      @rebalances = Rebalances.new([])
      @hooks = Hooks.new([], stopped)
      @closed = []
      Runtime::LoopParts.allocate.tap do |parts|
        given = {connection: @connection, hooks: @hooks, stopping: @hooks, rebalances: @rebalances}
        given.merge(CLOSED.to_h { |name| [name, Part.new(name, @closed)] })
          .each { |name, value| parts.instance_variable_set(:"@#{name}", value) }
      end
    end

    test "abandoning a connection takes its lanes from this process, runs their hooks and closes all parts" do
      lanes = Array.new(2) { lane(committed: 0) }
      parts(lanes).abandon

      assert_equal [lanes, lanes.map { |lane| [:revoked, lane] }, CLOSED], [@connection.removed, @hooks.late_ones, @closed]
      refute lanes.any?(&:owned?)
      assert_equal [{lost: true}], @rebalances.left
    end

    test "after a stop no further hook runs" do
      parts([lane(committed: 0)], stopped: true).abandon

      assert_equal [[], CLOSED], [@hooks.late_ones, @closed]
    end

    test "all parts are closed also when a lane can't be abandoned: letters and commits that wait are resolved" do
      lanes = Array.new(2) { lane(committed: 0) }
      assert_raises(IOError) { parts(lanes, bad: lanes.first).abandon }

      assert_equal CLOSED, @closed
    end

    # Parts of a loop with one lane, in which nothing happens.
    Quiet = Struct.new(:lane) do
      def active = self
      def to_a = [lane]
      def orphaned_units = []
      def pending? = false
      def running? = true
      def awaited? = false
      def ends_pending? = false
    end

    test "the loop waits for the result of a probe, which may release lanes of other connections" do
      admit(lane = lane(committed: 0), batch(0..0, from: 0))
      lane.holds.add(:breaker)
      parts = Runtime::LoopParts.allocate
      quiet = Quiet.new(lane)
      %i[connection rebalances stopping committer feeder].each { |name| parts.instance_variable_set(:"@#{name}", quiet) }
      refute parts.nothing_waiting?, "a record waits"
      probe = lane.probe
      refute parts.nothing_waiting?
      lane.returned(probe)

      assert parts.nothing_waiting?
    end
  end
end
