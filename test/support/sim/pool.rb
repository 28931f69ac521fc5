# frozen_string_literal: true

require "penstock/errors"
require "penstock/execution/executor"

module Penstock
  module TestSupport
    module Sim
      # The workers of a simulated process, a Penstock::Execution::Executor: fibers that take units from the real run
      # queue and run them with the real unit runner. A unit's start, its end and the arrival of its outcome are
      # separate moments on the timeline.
      class Pool
        include Execution::Executor

        attr_reader :queue, :size

        # @param instance [Instance]
        # @param queue [Execution::RunQueue]
        # @param runner [Execution::UnitRunner]
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

        # It would heal what must not happen: a unit that nobody was started for.
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
          sleeper = Sleeper.new(@instance) { run_all(sleeper, slot, units, ended) }
          @running[sleeper] = units.first
          @world.checker.unit_begun(@instance, units.first)
          sleeper.begin_after(0)
        end

        # As in the real one: quick units that were taken together may be revoked between two of them, and before the
        # first.
        def run_all(sleeper, slot, units, ended)
          while (unit = units.shift)
            outcome = run(sleeper, slot, unit)
            break if units.empty?
            slot.mailbox.post_quietly(outcome)
            outcome = nil
            sleeper.sleep_until(@world.timeline.now) if @world.random.rand(4).zero?
            @world.checker.unit_begun(@instance, units.first) if units.any?
          end
          @running.delete(sleeper)
          ended&.call
          outcome ? finished(slot, unit, outcome) : broken_off(slot)
        end

        def broken_off(slot)
          @queue.finished(slot, nil, false)
          slot.mailbox.wake_up
          grow
        end

        def run(sleeper, slot, unit)
          @running[sleeper] = unit
          @world.trace(:unit, @instance.number, unit.lane.partition, unit.messages.size)
          @runner.call(slot, unit).tap { |outcome| stretched(unit, outcome) if unit.stretch }
        end

        def stretched(unit, outcome)
          coverage = @world.coverage
          coverage.hit("unit of several calls") if unit.stretch.calls > 1
          coverage.hit("unit of several calls: failed after others") if unit.stretch.calls > 1 && outcome.error
          coverage.hit("unit of several calls: called back") if unit.rest && outcome.allows_next_call?
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
