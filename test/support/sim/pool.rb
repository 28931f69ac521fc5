# frozen_string_literal: true

require "penstock/testing/memory/workers"

module Penstock
  module TestSupport
    module Sim
      # The workers of a simulated process: fibers on the timeline.
      class Pool < Testing::Memory::Workers
        private

        def taken(unit) = @world.checker.unit_begun(@instance, unit)

        def between_two(sleeper)
          sleeper.sleep_until(@world.timeline.now) if @world.random.rand(4).zero?
        end

        def run(sleeper, slot, unit)
          @world.trace(:unit, @instance.number, unit.lane.partition, unit.messages.size)
          super.tap { |outcome| stretched(unit, outcome) if unit.stretch }
        end

        def stretched(unit, outcome)
          coverage = @world.coverage
          coverage.hit("unit of several calls") if unit.stretch.calls > 1
          coverage.hit("unit of several calls: failed after others") if unit.stretch.calls > 1 && outcome.error
          coverage.hit("unit of several calls: called back") if unit.rest && outcome.allows_next_call?
        end
      end
    end
  end
end
