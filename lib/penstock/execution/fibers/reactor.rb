# frozen_string_literal: true

require_relative "gate"

module Penstock
  module Execution
    module Fibers
      # One thread with its fibers: one takes units from the run queue, one obeys orders of other threads, and each unit has its
      # own. What a fiber does between two waits no other fiber sees half done.
      #
      # Nothing is ever raised at the thread: an interrupt is an order, carried out where the unit's fiber waits. Ends when the
      # queue is closed and all units have ended.
      class Reactor
        # How often a reactor with work shows that it turns.
        BEAT_S = 0.25
        # Units begun before those that wait get their turn again.
        IN_A_ROW = 8
        private_constant :BEAT_S, :IN_A_ROW

        # @return [Thread, nil]
        attr_reader :thread

        # @return [Float, nil] when it last turned, in seconds; nil without work
        attr_reader :beat

        # @param queue [#take, #finished]
        # @param runner [#call, #broken]
        # @param most [Integer] units at once
        # @param busy [#call] called when there is work again
        def initialize(queue:, runner:, most:, busy:)
          @queue = queue
          @runner = runner
          @most = most
          @busy = busy
          @places = {}.compare_by_identity
          @orders = Thread::Queue.new
          @beat = nil
        end

        # The thread's body.
        def run
          @thread = Thread.current
          Sync { |task| turn(task) }
        ensure
          @orders.close
          @places.each_value { |place| settle(place, nil) } # user code ended the thread
        end

        # @return [Array<Processing::Unit>] what runs now
        def units = @places.keys

        # @return [Processing::Unit, nil] whose code keeps the thread at this moment
        def current = @thread && Gate.place_of(@thread)&.unit

        # Any thread.
        # @param these [Array<Processing::Lane, Processing::Unit>]
        # @param error [Exception]
        # @return [Array<Processing::Unit>] units that will be interrupted
        def interrupt(these, error)
          hit = units.select { |unit| unit.among?(these) }
          @orders << [hit, error] unless hit.empty?
          hit
        rescue ClosedQueueError
          []
        end

        private

        def turn(task)
          @task = task
          @room = condition
          obeying = task.async { obey }
          take
          @room.wait until @places.empty?
          @orders.close
          obeying.wait
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
          pulse
          @task.async { run_unit(place) }
        end

        def condition = ::Async::Condition.new
        def place(slot, unit) = Gate::Place.new(slot, unit)

        def run_unit(place)
          outcome = Gate.enter(place) { @runner.call(place.slot, place.unit) }
        ensure
          @places.delete(place.unit)
          settle(place, outcome)
          @room.signal
        end

        # The run queue first: a lane must stall before the loop hears why.
        def settle(place, outcome)
          outcome ||= @runner.broken(place.unit)
          @queue.finished(place.slot, place.unit, !outcome.smooth?)
          place.slot.mailbox.post(outcome)
        end

        def obey
          while (units, error = @orders.pop)
            units.each { |unit| @places[unit]&.interrupt(error) }
          end
        end

        # Only while there is work, so that a reactor at rest costs nothing.
        def pulse
          return if @beat
          @beat = now
          @busy.call
          @task.async(transient: true) do
            until @places.empty?
              sleep(BEAT_S)
              @beat = now
            end
          ensure
            @beat = nil
          end
        end

        def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
      end
    end
  end
end
