# frozen_string_literal: true

require_relative "../../errors"
require_relative "../../execution/executor"

module Penstock
  module Testing
    module Memory
      # The workers of a process: take units from the real run queue and run them with the real unit runner. A unit's start, its
      # end and the arrival of its outcome are separate events of the timeline. Subclasses decide where a unit runs ({#place}).
      class Workers
        include Execution::Executor

        attr_reader :queue, :size

        # @param instance [Instance]
        # @param queue [Execution::RunQueue]
        # @param runner [Execution::UnitRunner]
        # @param concurrency [Integer] units that run at the same time at most
        def initialize(instance, queue:, runner:, concurrency:)
          @instance = instance
          @world = instance.world
          @queue = queue
          @runner = runner
          @size = concurrency
          @running = {}
          @hooks_running = 0
          @looking = false
        end

        # A runnable unit waits.
        def grow(count = 1)
          return if @looking || !count.positive?
          @looking = true
          @world.timeline.after(@world.quickly) { @instance.run_when_awake { look } }
        end

        # It would start a unit that nothing was started for, and so hide a defect.
        def start_missing = nil

        # One more worker, for hooks.
        def start_hook_worker
          @world.timeline.after(@world.quickly) { @instance.run_when_awake { look_for_hook } }
        end

        # @return [Array<Processing::Unit>] units that are interrupted
        def interrupt(lanes, error = Interrupted)
          hit = @running.select { |_sleeper, unit| lanes.include?(unit.lane) }
          hit.each_key { |sleeper| interrupt_later(sleeper, error) }
          hit.values
        end

        # @return [Array<Array(Object, Processing::Unit)>]
        def running = @running.to_a

        def close(_timeout_s) = @running.empty?

        private

        def look
          @looking = false
          return if @running.size - @hooks_running >= @size
          slot, units = @queue.take_chunk(wait: false)
          return unless units
          work(slot, units)
          grow
        end

        def look_for_hook
          slot, unit = @queue.take_hook(0)
          return unless unit
          @hooks_running += 1
          work(slot, [unit]) { @hooks_running -= 1 }
          start_hook_worker
        end

        def work(slot, units, &ended)
          sleeper = place { run_all(sleeper, slot, units, ended) }
          @running[sleeper] = units.first
          taken(units.first)
          sleeper.begin_after(0)
        end

        # @return [Sleeper, Turn] in which a unit runs
        def place(&) = @world.sleeper(@instance, &)

        # As in the real one: quick units that were taken together may be revoked between two of them, and before the first.
        def run_all(sleeper, slot, units, ended)
          while (unit = units.shift)
            outcome = run(sleeper, slot, unit)
            break if units.empty?
            slot.mailbox.post_quietly(outcome)
            outcome = nil
            between_two(sleeper)
            taken(units.first) if units.any?
          end
          @running.delete(sleeper)
          ended&.call
          outcome ? finished(slot, unit, outcome) : broken_off(slot)
        end

        # A unit is about to begin.
        def taken(_unit) = nil

        # Between two units that were taken together.
        def between_two(_sleeper) = nil

        def broken_off(slot)
          @queue.finished(slot, nil, false)
          slot.mailbox.wake_up
          grow
        end

        def run(sleeper, slot, unit)
          @running[sleeper] = unit
          @runner.call(slot, unit)
        end

        # The outcome is in transit for a moment: other threads may run in between.
        def finished(slot, unit, outcome)
          @queue.finished(slot, unit, outcome.stalls?)
          @world.timeline.after(@world.quickly) { @instance.run_when_awake { slot.mailbox.post(outcome) } }
          grow
        end

        def interrupt_later(sleeper, error)
          @world.timeline.after(@world.quickly) do
            @instance.run_when_awake { sleeper.raise_in(error) if @running.key?(sleeper) && sleeper.asleep? }
          end
        end
      end
    end
  end
end
