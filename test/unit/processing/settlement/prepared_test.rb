# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/processing/admission/prepare"

module Penstock
  # Where a lane goes on after user code was asked about what it took.
  class PreparedTest < TestCase
    include TestSupport::Lanes

    # A lane of four records, of which a worker has let in the first two; a filter wants to go on at `seek_to`.
    def sought(seek_to, manual:)
      @lane = lane(route(manual: manual), committed: 0)
      @assembly = assembly(@lane.topic)
      @ports = Ports.new
      @assembly.admission.call(@lane, batch(0..3, from: 0), nil).each { |effect| effect.perform(@lane, @ports) }
      unit = @lane.prepare_unit
      settle_prepared(unit, unit.messages.slice(0, 2), unit.messages.slice(2, 2), seek_to)
    end

    def settle_prepared(unit, messages, rest, seek_to)
      @lane.returned(unit)
      advice = Processing::Admission::Prepared.new(messages: messages, rest: rest, dropped: [], seek_to: seek_to, events: [])
      outcome = Processing::Outcome.new(unit: unit, advice: advice, finished: true, time_ms: 1)
      @assembly.settle(@lane, outcome, 0).each { |effect| effect.perform(@lane, @ports) }
    end

    def go_on = @assembly.let_in(@lane, 10).each { |effect| effect.perform(@lane, @ports) }

    # What was let in is consumed, and marked up to `marked` where that is said.
    def consume(marked: nil)
      unit = @lane.next_unit
      @lane.marks.mark(marked) if marked
      settle(@lane, unit)
    end

    test "where a filter goes on a new life of the lane begins, once what comes before is done" do
      sought(2, manual: false)
      go_on
      assert_empty @ports.seeks
      consume
      go_on
      assert_equal [[@lane.key, 2, :filter]], @ports.seeks
    end

    test "with manual offsets the filter is asked again about what is at hand: a seek would step over what isn't marked" do
      sought(2, manual: true)
      consume
      assert_equal [[], 2, :filter, 10], [@ports.seeks, @lane.intake.size, @lane.intake.reason, @lane.intake.due]
      @lane.intake.expire(10)
      assert @lane.intake.waiting?
      assert_equal 0, @lane.position
    end

    test "with manual offsets a filter that goes on further back, or behind what was taken, leaves nothing unmarked out" do
      sought(1, manual: true)
      consume
      go_on
      assert_equal [[@lane.key, 0, :filter]], @ports.seeks
    end
  end
end
