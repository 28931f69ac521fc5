# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/processing/admission/selection"
require "penstock/runtime/feeder"
require "penstock/runtime/run_queue"

module Penstock
  class FeederTest < TestCase
    include TestSupport::Lanes

    # What is asked of a session and its parts; it gives one batch a lane.
    class Session
      attr_reader :all, :queue, :batches

      def initialize(*lanes)
        @all = lanes
        @queue = Runtime::RunQueue.new
        @batches = []
      end

      def lanes = @all.to_h { |lane| [lane.key, lane] }
      def feeding = true
      def now = 0
      def driver = self
      def take(request) = Array.new(request.size / 3) { @batches.shift }
      def settings = self
      def window_bytes = 1_000_000
      def pool = self
      def grow(_count) = nil
      def subscribed?(_event) = false
    end

    # Lets every lane go on.
    class Unsuspicious
      def open?(_lane) = true
      def pass?(_lane, _unit) = true
    end

    # A pipeline that drops what a block says.
    Dropping = Struct.new(:drop, :calls) do
      def call(messages, _now, _wall, keys)
        self.calls += 1
        selection = Processing::Admission::Selection.new(messages, keys)
        messages.size.times { |position| selection.drop(position) if drop.call(messages.offset_at(position)) }
        selection.run
      end

      def again? = false
    end

    # Ports that remember whether anything moved.
    class Moving < TestSupport::Lanes::Ports
      attr_reader :moves

      def moved = @moves = @moves.to_i + 1
    end

    def setup
      @topic = route
      @lane = lane(@topic, committed: 0)
      @lane.slot = Runtime::RunQueue::Slot.new("orders")
      @lane.pipeline = Dropping.new(:odd?.to_proc, 0)
      @session = Session.new(@lane)
      @ports = Moving.new
      @feeder = Runtime::Feeder.new(@session, {@topic => assembly(@topic)}, @ports, ->(_topic) { 5 }, Unsuspicious.new)
    end

    test "records that are dropped before a unit move the offset, so a commit is due" do
      @lane.pipeline.drop = ->(_offset) { true }
      @session.batches << batch(0..3, from: 0)
      @feeder.run
      assert_equal 4, @lane.position
      refute_nil @ports.moves
      assert_nil @session.queue.take(wait: false)
    end

    test "all parts of what waits whose time has come go in, on one turn" do
      rows = batch(0..5, from: 0)
      @lane.ledger.admit(0, 6, nil)
      messages = Messages.new(rows)
      @lane.intake.push(messages.slice(3, 3))
      @lane.intake.put_back(messages.slice(0, 3), nil, prepared: true)
      @feeder.run
      assert_equal [2, true], [@lane.pipeline.calls, @lane.intake.empty?]
      assert_equal([[0, 2], [4]], @session.queue.withdraw(@lane.slot).map { |unit| offsets_of(unit) })
    end
  end
end
