# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "support/virtual_clock"
require "penstock/errors"
require "penstock/execution/run_queue"
require "penstock/runtime/loop/connection_state"
require "penstock/runtime/loop/work/settler"

module Penstock
  # Which units are called back when a unit ends, and which stall that lifts.
  class SettlerTest < TestCase
    include TestSupport::Lanes

    # A worker's result of filters that let every record pass.
    Prepared = Struct.new(:messages, :keys, :dropped, :rest, :seek_to, :hold, :events)

    # Ports that push units to the queue.
    class Pushing < TestSupport::Lanes::Ports
      def initialize(queue)
        super()
        @queue = queue
      end

      def schedule_commit = nil
      def prepare(lane) = @queue.push(lane.assignment.prepare_slot, lane.prepare_unit)
    end

    Parallel = Struct.new(:by, :max_partitions, :partitioner, :consistent?, :offset_metadata_strategy)

    def setup = consuming(route)

    def consuming(topic)
      @queue = Execution::RunQueue.new
      @topic = topic
      @lane = lane(@topic, committed: 0)
      equip(@lane, prepare: Object.new)
      slot, prepare_slot = Array.new(2) { Execution::RunQueue::Slot.new("orders") }
      assign(@lane, slot: slot, prepare_slot: prepare_slot)
      @ports = Pushing.new(@queue)
      @topic_pipeline = topic_pipeline(@topic)
      @settler = Runtime::Settler.new(session, {@topic => @topic_pipeline}, @ports, nil, nil)
    end

    def session
      Runtime::ConnectionState.allocate.tap do |session|
        {queue: @queue, clock: VirtualClock.new, current: {@lane => true}.compare_by_identity}.each do |name, value|
          session.instance_variable_set(:"@#{name}", value)
        end
      end
    end

    # @return [Processing::Unit] that a worker has begun
    def preparing
      @lane.ledger.admit(0, 3, nil)
      @lane.intake.push(Messages.new(batch(0..2, from: 0)))
      ask
    end

    def ask
      @topic_pipeline.admit_next(@lane, 0).each { |effect| effect.perform(@lane, @ports) }
      @queue.take(wait: false)&.last
    end

    def ends(unit, slot, **how)
      outcome = Processing::Outcome.new(unit: unit, finished: true, time_ms: 1, **how)
      @queue.finished(slot, unit, outcome.stalls?)
      @settler.call(outcome)
    end

    test "a preparing unit that was interrupted is run again, where keys run side by side too" do
      consuming(route(features: {parallel: Parallel.new(:key, 4, nil, false)}))
      ends(preparing, @lane.assignment.prepare_slot, error: Interrupted.new("somebody"))

      again = ask
      assert again, "the preparing unit waits for a stall that is never lifted"
      assert_equal [0, 1, 2], offsets_of(again)
    end

    test "a failed preparing unit lifts no stall of units" do
      unit = preparing
      @lane.assignment.slot.stalled = true
      ends(unit, @lane.assignment.prepare_slot, error: Interrupted.new("somebody"))

      assert @lane.assignment.slot.stalled
    end

    test "a unit that failed lifts the stall of units, not of preparing ones" do
      equip(@lane, prepare: nil)
      admit(@lane, batch(0..2, from: 0))
      @queue.push(@lane.assignment.slot, @lane.next_unit)
      @lane.assignment.prepare_slot.stalled = true
      ends(@queue.take(wait: false).last, @lane.assignment.slot, error: RuntimeError.new("no"), blamed: 0)

      assert_equal [false, true], [@lane.assignment.slot.stalled, @lane.assignment.prepare_slot.stalled]
    end
  end
end
