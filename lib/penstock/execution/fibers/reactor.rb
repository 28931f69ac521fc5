# frozen_string_literal: true

require_relative "../../clock"
require_relative "gate"

module Penstock
  module Execution
    module Fibers
      # Runs units in the fibers of one thread: one fiber takes units from the run queue, one raises interrupts that other threads
      # request, and each unit has its own. Between two waits of a fiber no other fiber runs, so none sees a half-finished change.
      #
      # No error is ever raised in the thread itself: an interrupt is queued, and raised where the unit's fiber waits. Ends when
      # the queue is closed and all units have ended.
      class Reactor
        # How often a reactor with work updates its `beat`.
        BEAT_S = 0.25
        # Units started in a row before the waiting fibers get a turn.
        IN_A_ROW = 8
        private_constant :BEAT_S, :IN_A_ROW

        # @return [Thread, nil]
        attr_reader :thread

        # @return [Float, nil] time of its last beat, in seconds; nil without work
        attr_reader :beat

        # @param queue [#take, #finished]
        # @param runner [#call, #broken]
        # @param most [Integer] units at once
        # @param busy [#call] called when there is work again
        # @param report [#call] receives the error when a unit can't be interrupted
        def initialize(queue:, runner:, most:, busy:, report:)
          @queue = queue
          @runner = runner
          @most = most
          @busy = busy
          @report = report
          @places = {}.compare_by_identity
          @interrupts = Thread::Queue.new
          @unreached = {}.compare_by_identity
          @beat = nil
        end

        # The thread's body.
        def run
          @thread = Thread.current
          Sync { |task| turn(task) }
        ensure
          @interrupts.close
          @places.each_value { |place| settle(place, nil) } # user code has ended the thread
        end

        # @return [Array<Processing::Unit>] the running units
        def units = @places.keys

        # @return [Processing::Unit, nil] the unit whose code runs on the thread now
        def current = @thread && Gate.place_of(@thread)&.unit

        # Any thread.
        # @param these [Array<Processing::Lane, Processing::Unit>]
        # @param error [Exception]
        # @return [Array<Processing::Unit>] units that will be interrupted
        def interrupt(these, error)
          hit = units.select { |unit| unit.among?(these) }
          @interrupts << [hit, error] unless hit.empty?
          hit
        rescue ClosedQueueError
          []
        end

        private

        def turn(task)
          @task = task
          @room = condition
          interrupting = task.async { raise_interrupts }
          take
          @room.wait until @places.empty?
          @interrupts.close
          interrupting.wait
        end

        def take
          begun = 0
          while (slot, unit = @queue.take)
            start(slot, unit)
            @task.yield if ((begun += 1) % IN_A_ROW).zero?
            @room.wait while @places.size >= @most
          end
        end

        def start(slot, unit)
          place = @places[unit] = place(slot, unit)
          start_beat
          @task.async { run_unit(place) }
        end

        def condition = ::Async::Condition.new
        def place(slot, unit) = Gate::Place.new(slot, unit)

        def run_unit(place)
          outcome = Gate.enter(place) { @runner.call(place.slot, place.unit) }
        ensure
          @places.delete(place.unit)
          @unreached.delete(place.unit)
          settle(place, outcome)
          @room.signal
        end

        # The run queue first: a lane must stall before the poll loop gets the outcome.
        def settle(place, outcome)
          outcome ||= @runner.broken(place.unit)
          @queue.finished(place.slot, place.unit, outcome.stalls?)
          place.slot.mailbox.post(outcome)
        end

        def raise_interrupts
          while (units, error = @interrupts.pop)
            units.each { |unit| interrupt_unit(unit, error) }
          end
        end

        # Ruby 3.1 can't raise an error in a fiber that has resumed another one: it is tried again with each beat, until user code
        # waits in the unit's own fiber.
        def interrupt_unit(unit, error)
          @places[unit]&.interrupt(error)
          @unreached.delete(unit)
        rescue FiberError
          @report.call(unreachable(unit, error)) unless @unreached.key?(unit)
          @unreached[unit] = error
        end

        def unreachable(unit, error)
          place = "#{unit.lane.topic_name}/#{unit.lane.partition}"
          FiberError.new("#{error.class} doesn't reach user code of #{place} yet: it waits in a Fiber that it has created, to " \
            "which Ruby #{RUBY_VERSION} passes no error. Wait outside of it, or create it with Async")
        end

        # Updates the beat while there is work; an idle reactor costs nothing.
        def start_beat
          return if @beat
          @beat = now
          @busy.call
          @task.async(transient: true) do
            until @places.empty?
              sleep(BEAT_S)
              @beat = now
              @unreached.to_a.each { |unit, error| interrupt_unit(unit, error) }
            end
          ensure
            @beat = nil
          end
        end

        def now = Clock.seconds
      end
    end
  end
end
