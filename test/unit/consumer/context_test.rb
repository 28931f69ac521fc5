# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/consumer/context"
require "penstock/routing/features/parallel"

module Penstock
  class ConsumerContextTest < TestCase
    include TestSupport::Lanes

    # Connection to the loop.
    class Link
      def request(_lane, _flow) = nil
    end

    # Begins a unit with the records 0 to 4.
    # @return [Consumer::Context]
    def begun(topic = route)
      lane = lane(topic, committed: 0)
      admit(lane, batch(0..4, from: 0))
      Consumer::Context.new(lane, Link.new).tap { |context| context.begin_unit(@unit = lane.next_unit) }
    end

    def mark_all(context) = context.messages.map { |message| context.mark(message) }

    test "after a seek a mark from its target on returns false, for the seek would drop it; before the target it counts" do
      context = begun
      context.seek(2, true)
      assert_equal [[true, true, false, false, false], 2], [mark_all(context), context.marks.through]

      assert_equal [[true], [false]], %i[latest earliest].map { |target|
        begun.then { |other| other.seek(target, true) || mark_all(other) }.uniq
      }
    end

    test "the call after one with a seek may mark everything, as may a call that has requested a pause" do
      context = begun
      context.seek(2, true)
      context.take_flow
      admit(context.lane, batch(5..6, from: 5))
      context.begin_unit(context.lane.next_unit)
      context.pause(5, nil)
      assert_equal [true, true], mark_all(context)
    end

    # @return [Consumer::Flow, nil] what a call has requested that does this
    def requested(topic = route, &block) = begun(topic).tap(&block).take_flow

    def by_message = route(features: {parallel: Routing::Parallel.new(:message, 4, nil, :rolling, :current)})

    test "a resume before the call that paused has returned ends the wait; where the partition continues stays" do
      resume = ->(context) { Thread.new { context.resume }.join }
      flows = [[route, 2], [by_message, nil], [route, nil]].map do |topic, offset|
        requested(topic) { |context| context.pause(offset, Float::INFINITY) || resume.call(context) }
      end
      assert_equal [Consumer::Flow::Pause.new(2, 0), Consumer::Flow::Pause.new(nil, 0), nil], flows
    end

    test "of several requests of a call the last position and the last pause count" do
      flows = [
        requested { |context| context.seek(2, true) || context.pause(:consecutive, 5_000) },
        requested { |context| context.pause(2, 100) || context.pause(:consecutive, Float::INFINITY) },
        requested { |context| context.seek(2, true) || context.pause(3, 50) },
        requested { |context| context.pause(2, 50) || context.seek(3, true) },
        requested { |context| context.seek(2, true) || context.pause(nil, 50) || context.seek(3, true) }
      ]
      assert_equal [Consumer::Flow::Seek.new(2, true, 5_000), Consumer::Flow::Pause.new(2, nil), Consumer::Flow::Pause.new(3, 50),
        Consumer::Flow::Seek.new(3), Consumer::Flow::Seek.new(3)], flows
    end

    test "a resume ends the wait of a call that seeks and pauses, before it has returned and afterwards; the seek stays" do
      both = ->(context) { context.seek(2, true) || context.pause(:consecutive, Float::INFINITY) }
      assert_equal Consumer::Flow::Seek.new(2), requested { |context| both.call(context) || context.resume }
      context = begun.tap(&both)
      flow = context.take_flow
      assert_equal Consumer::Flow::Seek.new(2, true, nil), flow
      context.resume
      assert_equal Consumer::Flow::Seek.new(2, true, 0), flow
    end

    test "records of a call that paused at one of them run again, also if another thread has resumed meanwhile" do
      context = begun
      context.mark(context.messages[1])
      context.pause(2, Float::INFINITY)
      context.resume
      settle(context.lane, @unit, flow: context.take_flow, now: 100)
      context.lane.holds.expire(100)
      assert_equal [2, [2, 3, 4]], [context.lane.committable_offset, offsets_of(context.lane.next_unit)]
    end

    test "a call that ended early completes only what it marked, also if it pauses and resumes afterwards" do
      requests = [->(_context) {}, ->(context) { context.pause(2, nil) }, ->(context) { context.seek(2, true) }]
      early = requests.map { |request| begun.tap(&:complete_marked_only).tap(&request).take_flow }
      assert_equal [Consumer::Flow::MarkedOnly.new, Consumer::Flow::Pause.new(2, 1_000), Consumer::Flow::Seek.new(2)], early

      context = begun
      context.complete_marked_only
      context.pause(2, nil)
      context.resume
      assert_equal Consumer::Flow::MarkedOnly.new, context.take_flow
      context.complete_marked_only
      admit(context.lane, batch(5..6, from: 5))
      context.begin_unit(context.lane.next_unit)
      assert_nil context.take_flow, "the next call has all of its records"
    end
  end
end
