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

    test "a place that another process has taken stops this one; for one that may become free the loop tries again" do
      process = Struct.new(:stopped) { def stop_because(error) = stopped << error.code }.new([])
      rebalances = Struct.new(:lost) { def fenced = lost << true }.new([])
      parts = Runtime::LoopParts.allocate
      {process: process, rebalances: rebalances}.each { |name, value| parts.instance_variable_set(:"@#{name}", value) }
      refused = ->(code) { parts.fenced(Native.error_for(Native.error_number(code), "refused")) }
      refused.call(:fenced_instance_id)

      assert_raises(FencedError) { refused.call(:unreleased_instance_id) }
      assert_equal [[:fenced_instance_id], [true]], [process.stopped, rebalances.lost]
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

    test "a probe whose record has expired isn't handed out" do
      admit(lane = lane(committed: 0), batch(0..0, from: 0))
      checked = []
      parts = Runtime::LoopParts.allocate
      feeder = Struct.new(:checked) { def recheck(*pair) = checked.push(pair) && false }.new(checked)
      parts.instance_variable_set(:@feeder, feeder)
      parts.__send__(:probe, lane, unit = lane.probe)

      assert_equal [[lane, unit]], checked
    end

    Parallel = Struct.new(:by, :max_partitions, :partitioner, :consistent?, :offset_metadata_strategy)

    # @return [LoopParts] of a loop with this lane, of which one unit runs and some wait for workers
    def parts_with(lane, waiting: 200)
      slot = Execution::RunQueue::Slot.new("orders", width: 4, ordered: !lane.by_key?)
      slot.pending.concat(Array.new(waiting))
      assign(lane, slot: slot)
      lane.next_unit
      quiet = Quiet.new(lane)
      Runtime::LoopParts.allocate.tap do |parts|
        %i[connection rebalances stopping committer feeder].each { |name| parts.instance_variable_set(:"@#{name}", quiet) }
        parts.instance_variable_set(:@parallel, true)
      end
    end

    def in_order = lane(committed: 0).tap { |lane| admit(lane, batch(0..9, from: 0)) }

    # A lane whose units take a millisecond each.
    def by_key(**options)
      lane(route(features: {parallel: Parallel.new(:message, 4, nil, false)}), committed: 0, **options).tap do |lane|
        admit(lane, batch(0..9, from: 0))
        100.times { lane.division.record_time(1_000) }
      end
    end

    test "workers have enough units if more than half of those that are handed out in advance wait for them" do
      assert_equal 40, by_key.division.pace.look_ahead
      assert_equal([false, true], [20, 21].map { |waiting| parts_with(by_key, waiting: waiting).workers_supplied? })
    end

    test "outcomes may wait 20 ms while workers have enough units, 200 ms while nothing waits for them, and not at all otherwise" do
      assert_equal [20, nil], [21, 20].map { |waiting| parts_with(by_key, waiting: waiting).collect_ms }
      admit(last = lane(committed: 0), batch(0..0, from: 0))
      unit = last.next_unit
      parts = parts_with(last, waiting: 0)
      assert_equal 200, parts.collect_ms
      last.returned(unit)

      assert_equal Float::INFINITY, parts.collect_ms, "no outcome can come"
    end

    test "workers need the loop where units take so long that few are handed out in advance" do
      slow = by_key
      100.times { slow.division.record_time(50_000) }

      refute parts_with(slow).workers_supplied?
    end

    test "workers need the loop where a partition runs in order or tries a single record" do
      refute parts_with(in_order).workers_supplied?
      probed = by_key
      parts = parts_with(probed)
      assert parts.workers_supplied?
      probed.probe

      refute parts.workers_supplied?
    end

    test "workers need the loop during a rebalance, a stop or a wait for a commit, and before eofed" do
      {pending?: true, running?: false, awaited?: true, ends_pending?: true, orphaned_units: [1]}.each do |name, answer|
        parts = parts_with(by_key)
        parts.instance_variable_get(:@feeder).define_singleton_method(name) { answer }

        refute parts.workers_supplied?, name
      end
    end

    test "workers need the loop while the topic's breaker, which other connections share, waits for a success" do
      breaker = Struct.new(:awaits_success?)

      assert_equal([true, false], [false, true].map { |waits| parts_with(by_key(breaker: breaker.new(waits))).workers_supplied? })
    end

    test "a partition that is held and runs nothing has no part in it" do
      busy, held = by_key, in_order
      held.holds.add(:user)
      parts = parts_with(busy)
      lanes = [busy, held]
      parts.instance_variable_get(:@connection).define_singleton_method(:to_a) { lanes }
      assert parts.workers_supplied?
      lanes.replace([held])

      refute parts.workers_supplied?, "nothing runs"
    end
  end
end
