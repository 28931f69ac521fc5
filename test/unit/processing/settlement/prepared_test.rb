# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "penstock/processing/admission/prepare"

module Penstock
  # Where a lane continues after filters and partitioner have seen its records.
  class PreparedTest < TestCase
    include TestSupport::Lanes

    # A lane of four records, of which a worker has admitted the first two; a filter requests a seek to `seek_to`.
    def sought(seek_to, manual:)
      @lane = lane(route(manual: manual), committed: 0)
      @topic_pipeline = topic_pipeline(@lane.topic)
      @ports = Ports.new
      @topic_pipeline.admission.call(@lane, batch(0..3, from: 0), nil).each { |effect| effect.perform(@lane, @ports) }
      unit = @lane.prepare_unit
      settle_prepared(unit, unit.messages.slice(0, 2), unit.messages.slice(2, 2), seek_to)
    end

    def settle_prepared(unit, messages, rest, seek_to)
      @lane.returned(unit)
      prepared = Processing::Admission::Prepared.new(messages: messages, rest: rest, dropped: [], seek_to: seek_to, events: [])
      outcome = Processing::Outcome.new(unit: unit, callback_results: prepared, finished: true, time_ms: 1)
      @topic_pipeline.settle(@lane, outcome, 0).each { |effect| effect.perform(@lane, @ports) }
    end

    def go_on = @topic_pipeline.admit_next(@lane, 10).each { |effect| effect.perform(@lane, @ports) }

    # Consumes the admitted records, and marks up to `marked` if given.
    def consume(marked: nil)
      unit = @lane.next_unit
      @lane.marks.mark(marked) if marked
      settle(@lane, unit)
    end

    test "a filter's seek begins a new incarnation of the lane, once earlier records are complete" do
      sought(2, manual: false)
      go_on
      assert_empty @ports.seeks
      consume
      go_on
      assert_equal [[@lane.key, 2, :filter]], @ports.seeks
    end

    test "with manual offsets the filter gets buffered records again: a seek would skip unmarked records" do
      sought(2, manual: true)
      consume
      assert_equal [[], 2, :filter, 10], [@ports.seeks, @lane.intake.size, @lane.intake.reason, @lane.intake.due]
      @lane.intake.expire(10)
      assert @lane.intake.waiting?
      assert_equal 0, @lane.committable_offset
    end

    test "with manual offsets a filter's seek further back, or past the taken records, skips no unmarked record" do
      sought(1, manual: true)
      consume
      go_on
      assert_equal [[@lane.key, 0, :filter]], @ports.seeks
    end
  end
end
