# frozen_string_literal: true

require "json"
require "penstock/processing/recording/recorder"
require_relative "lanes"
require_relative "virtual_clock"

module Penstock
  module TestSupport
    # A lane with its flight recorder on, driven as a poll loop drives it, on a clock that moves only on request.
    class RecordedLane
      include Lanes

      # Other methods of a route that are called.
      module Grouped
        def consumer_group_id = "shop"
      end

      attr_reader :lane, :clock, :recorder

      # @param route [Hash] see {Lanes#route}
      def initialize(committed: 0, completed: [], **route)
        @clock = VirtualClock.new
        @recorder = Processing::Recording::Recorder.new(@clock)
        @topic = route(**route).extend(Grouped)
        @topic_pipeline = topic_pipeline(@topic, clock: @clock)
        @lane = @topic_pipeline.lane("orders", 3, 1)
        @lane.recording = @recorder.follow(@lane)
        @lane.adopt(committed, completed)
        @lane.recording.adopted(committed, completed)
        @ports = Ports.new
      end

      # @param offsets [Enumerable<Integer>]
      # @param eof [Integer, nil] end of the log that is reached with them
      # @param low [Integer, nil] the log's first offset
      # @return [self]
      def take(offsets, key: ->(_offset) {}, eof: nil, low: nil)
        rows = offsets.map { |offset| Messages::MemoryBatch::Row.new(offset: offset, payload: "secret", key: key.call(offset)) }
        batch = Messages::MemoryBatch.new("orders", 3, rows, from: @lane.ledger.tail, eof: eof)
        @lane.recording.take(batch)
        decided(@topic_pipeline.admission.call(@lane, batch, low))
        admit_waiting
        self
      end

      # @return [Processing::Unit, nil]
      def hand_out = @lane.next_unit&.tap { |unit| @lane.recording.unit(unit) }

      # @param calls [Integer, nil] calls of `consume` that were begun, for a unit that may have several; nil: all
      # @param quick [Boolean] whether they took almost no time
      def settle(unit, error: nil, blamed: nil, flow: nil, calls: nil, quick: false)
        @clock.advance(3)
        go_on(unit) until unit.rest.nil? || unit.stretch.calls == calls
        outcome = Processing::Outcome.new(unit: unit, error: error, blamed: blamed, flow: flow, finished: true, time_ms: 3,
          time_us: quick ? 30 : 3_000)
        now = @clock.monotonic_ms
        unit.messages.cursor = (0...unit.messages.size).find { |at| unit.messages.offset_at(at) == blamed }
        @lane.recording.outcome(outcome, now)
        @lane.returned(unit)
        unit.record_time(outcome.time_us) if quick
        unit.requeue_rest
        decided(@topic_pipeline.settle(@lane, outcome, now))
      end

      # User code asks for something outside of a unit.
      def ask(flow, calling_back: [])
        @lane.recording.requested(flow)
        call_back(calling_back)
        decided(@topic_pipeline.request(@lane, flow, @clock.monotonic_ms))
      end

      # @param units [Array<Processing::Unit>] that haven't begun
      def call_back(units)
        @lane.recording.called_back(units)
        @lane.put_back(units)
      end

      # While a breaker is open.
      # @return [Processing::Unit] of one record
      def probe
        @lane.holds.add(:breaker)
        @lane.recording.probed
        @lane.probe.tap do |unit|
          @lane.recording.unit(unit)
          @lane.holds.release(:breaker)
        end
      end

      # @param waited_ms [Integer]
      def wait(waited_ms)
        now = @clock.advance(waited_ms).monotonic_ms
        @lane.recording.expired(now)
        @lane.holds.expire(now)
        @lane.division.expire(now)
        @lane.intake.expire(now)
        admit_waiting
      end

      # @return [Array<Hash>] as in a dump
      def recordings = JSON.parse(JSON.generate(@recorder.to_a))

      private

      # As a worker does.
      def go_on(unit)
        passed = unit.messages.last_offset
        unit.begin_next_call
        @lane.marks.mark(passed)
      end

      def admit_waiting
        decided(@topic_pipeline.admit_next(@lane, @clock.monotonic_ms)) while @lane.intake.waiting?
      end

      def decided(effects)
        @lane.recording.effects(effects)
        effects.each { |effect| effect.perform(@lane, @ports) }
      end
    end
  end
end
