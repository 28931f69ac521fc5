# frozen_string_literal: true

require "penstock/execution/run_queue"

module Penstock
  module TestSupport
    module Sim
      module Pools
        # The real run queue; a worker that waits for a unit sleeps on the timeline.
        class Queue < Execution::RunQueue
          # The waiting workers.
          class Bell
            FOR_EVER_MS = 1_000_000_000
            private_constant :FOR_EVER_MS

            def initialize(world)
              @world = world
              @sleepers = []
            end

            def signal = @sleepers.shift&.wake_at(@world.timeline.now + @world.quickly)

            def broadcast
              signal until @sleepers.empty?
            end

            def sleep
              @sleepers << @world.running
              @world.running.sleep_until(@world.timeline.now + FOR_EVER_MS)
            end
          end

          # @param instance [Instance]
          def initialize(instance, limit_of)
            super(limit_of)
            @instance = instance
            @work = Bell.new(instance.world)
            @interrupted = {}.compare_by_identity
          end

          def take(wait: true)
            until (found = super(wait: false)) || !wait || closed?
              @idle += 1
              @work.sleep
              @idle -= 1
            end
            @instance.world.checker.unit_begun(@instance, found.last) if found
            found
          end

          def finished(slot, unit, stall)
            @instance.world.coverage.hit("pool: reply after an interrupt") if @interrupted.delete(unit) && !stall
            super
          end

          # An interrupt for this unit is on its way.
          def interrupted(unit) = @interrupted[unit] = true
        end
      end
    end
  end
end
