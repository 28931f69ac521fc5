# frozen_string_literal: true

require "penstock/execution/fibers/gate"
require "penstock/execution/fibers/pool"
require_relative "queue"
require_relative "threads"

module Penstock
  module TestSupport
    module Sim
      module Pools
        # `run_on :fibers` in a simulated process: the real pool, reactors and gates. Sleepers on the timeline replace
        # the async gem: tasks, waiting, and raising in a waiting task.
        class Fibers < Execution::Fibers::Pool
          def self.load = nil

          # @param instance [Instance]
          # @param runner [Execution::UnitRunner] with a gate
          def initialize(instance, queue, runner, size:, most:)
            @instance = instance
            super(queue: queue, runner: runner, threads: Threads.new(instance), size: size, most: most, report: ->(*) {})
            @monitor = Nobody
          end

          # The monitor for reactors that are blocked: no code blocks one here.
          module Nobody
            def self.start(_threads) = nil
            def self.wake = nil
          end

          private

          def reactor(**options) = Reactor.new(@instance, **options)

          # The real one on the timeline.
          class Reactor < Execution::Fibers::Reactor
            def initialize(instance, **options)
              super(**options)
              @instance = instance
              @interrupts = Mail.new(instance.world)
            end

            def run = turn(Task.new(@instance))

            private

            def condition = Bell.new(@instance.world)
            def place(slot, unit) = Place.new(@instance.world, slot, unit)
            def start_beat = nil

            def start(slot, unit)
              @instance.world.coverage.hit("fibers: several at once") if @places.any?
              super
            end
          end

          # A unit in its fiber.
          class Place < Execution::Fibers::Gate::Place
            def initialize(world, slot, unit)
              super(slot, unit)
              @world = world
            end

            def open
              @sleeper = @world.running
              super
            end

            def interrupt(error)
              @world.coverage.hit("fibers: interrupted before it began") unless @fiber
              super
            end

            private

            def raise_at(_fiber, error)
              @world.coverage.hit("fibers: interrupted in a revocation") if unit.lane.marks.leaving?
              @sleeper.raise_in(error)
              Fiber.yield if @sleeper.instance.dead?
            end
          end

          # A task of the gem, which begins at once.
          class Task
            def initialize(instance)
              @instance = instance
            end

            def async(**, &)
              sleeper = Sleeper.new(@instance, &)
              sleeper.begin_now
              Fiber.yield if @instance.dead? # it has killed its process
              sleeper
            end

            def yield = @instance.world.running.sleep_until(@instance.world.timeline.now)
          end

          # A queue of orders.
          class Mail
            def initialize(world)
              @interrupts = []
              @bell = Queue::Bell.new(world)
              @closed = false
            end

            def <<(order)
              raise ClosedQueueError if @closed
              @interrupts << order
              @bell.signal
            end

            def pop
              @bell.sleep while @interrupts.empty? && !@closed
              @interrupts.shift
            end

            def close
              @closed = true
              @bell.broadcast
            end
          end

          # A condition: all waiting tasks resume.
          class Bell < Queue::Bell
            def wait = sleep
            def signal = broadcast_to_all

            private

            def broadcast_to_all
              sleepers, @sleepers = @sleepers, []
              sleepers.each { |sleeper| sleeper.wake_at(@world.timeline.now) }
            end
          end
        end
      end
    end
  end
end
