# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/consumer/flow"
require "penstock/routing/features/breaker"
require "penstock/routing/features/parallel"

module Penstock
  # The fast path for nearly every outcome has the same result as the full path.
  class PlainSuccessTest < TestCase
    include TestSupport::Lanes

    KEYED = {parallel: Routing::Parallel.new(:message, 4, nil, :rolling, :current)}.freeze

    test "a successful unit leaves the lane in the same state as the effects of the full path" do
      [{}, KEYED].each do |features|
        short, long = Array.new(2) { lane_of(features) }
        units = [short, long].map { |lane| second_of(lane) }
        assert topic_pipeline(short.topic).complete_directly(short, ended(units.first))
        topic_pipeline(long.topic).settle(long, ended(units.last), 0).each { |effect| effect.perform(long, Ports.new) }
        assert_equal long.snapshot, short.snapshot
        assert_operator short.ledger.incomplete, :<, 9
      end
    end

    test "marks ahead of a unit in order count when it completes" do
      lane = lane_of({})
      unit = lane.next_unit
      lane.marks.mark(6)
      assert topic_pipeline(lane.topic).complete_directly(lane, ended(unit))
      assert_equal 7, lane.ledger.base
    end

    test "deciders are called where one may decide: an error, a request, manual offsets, a hook" do
      refused = [[{}, {error: IOError.new}], [{}, {flow: Consumer::Flow::Pause.new(nil, nil)}], [{manual: true}, {}]]
      refused.each do |options, what|
        lane = taken(lane(route(max_messages: 3, **options)))
        refute topic_pipeline(lane.topic).complete_directly(lane, ended(lane.next_unit, **what)), "#{options} #{what}"
        assert_equal 0, lane.ledger.base
      end
      lane = lane_of({})
      refute topic_pipeline(lane.topic).complete_directly(lane, ended(lane.action_unit(:tick, lane.next_unit.messages)))
    end

    test "a success is reported to the breaker where it matters: while it is open, or has seen an error of an outage" do
      breaker = Routing::Breaker.new(3, 1, 2, ["IOError"], nil)
      topic = route(max_messages: 3, features: {breaker: breaker})
      topic_pipeline = topic_pipeline(topic)
      lane = taken(topic_pipeline.lane("orders", 0, 1).tap { |one| one.adopt(0) })
      first, second = lane.next_unit, lane.next_unit
      failed = Processing::Outcome.new(unit: first, error: IOError.new, blamed: 0, finished: true, time_ms: 1)
      first.messages.cursor = 0
      topic_pipeline.settle(lane, failed, 0)
      refute topic_pipeline.complete_directly(lane, ended(first))
      topic_pipeline.settle(lane, ended(first), 0).each { |effect| effect.perform(lane, Ports.new) }
      assert topic_pipeline.complete_directly(lane, ended(second))
    end

    test "a unit of a lost lane, or of an earlier incarnation, completes nothing" do
      [:end_ownership!, ->(lane) { lane.reincarnate(0) }].each do |happens|
        lane = lane_of({})
        unit = lane.next_unit
        happens.to_proc.call(lane)
        refute topic_pipeline(lane.topic).complete_directly(lane, ended(unit))
        assert_equal 0, lane.ledger.base
      end
    end

    private

    def lane_of(features) = taken(lane(route(max_messages: 3, features: features)))

    def taken(lane)
      admit(lane, batch(0...9))
      lane
    end

    # Returns the second unit; the first is out, and comes back after it.
    def second_of(lane)
      lane.next_unit
      lane.next_unit.tap { |unit| lane.returned(unit) }
    end

    def ended(unit, **what)
      Processing::Outcome.new(unit: unit, finished: true, time_ms: 1, **what)
    end
  end
end
