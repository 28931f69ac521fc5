# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../errors"
require_relative "../executor"

module Penstock
  module Execution
    module Threads
      # The executor of `run_on :threads`, the default: runs units on worker threads, shared by all poll loops. A worker is
      # started when there is work and no worker is idle, up to `concurrency`, which may change at run time ({#scale}). One more
      # thread runs hooks, so that a hook never waits for a job that takes an hour.
      #
      # A worker takes a unit, runs it, posts the outcome to the loop it came from, and takes the next. It never touches a lane
      # or the connection. Workers end when the queue is closed; a stop may interrupt running units. A worker whose thread is
      # killed, in user code or while it waits, still posts an outcome, and another worker replaces it.
      class Pool
        include Executor

        HOOK_WORKER_IDLE_S = 5.0
        # How long a worker runs units before it releases Ruby's lock for other threads.
        TURN_US = 5_000
        # Outside of user code: no error is raised, and a kill (which isn't an exception) takes effect only in a wait.
        MASKED = {Exception => :never, Object => :on_blocking}.freeze
        # For code in which the end of the thread would lose a unit.
        UNSTOPPABLE = {Object => :never}.freeze
        private_constant :HOOK_WORKER_IDLE_S, :TURN_US, :MASKED, :UNSTOPPABLE

        attr_reader :queue

        # @param queue [RunQueue]
        # @param runner [Execution::UnitRunner]
        # @param threads [Runtime::Threads]
        # @param concurrency [Integer] most workers
        # @param priority [Integer] Ruby's thread priority
        # @param meters [#open, nil] measures workers; nil: they aren't measured. See {Native::LockMeter}
        def initialize(queue:, runner:, threads:, concurrency:, priority:, meters: nil)
          @queue = queue
          @runner = runner
          @threads = threads
          @concurrency = concurrency
          @priority = priority
          @lock = Mutex.new
          @workers = []
          @hook_workers = []
          @states = []
          @meters = meters
          @ended_figures = NO_FIGURES
          @interrupting = false
        end

        # A worker thread, the unit it runs, how long it has run since it last released Ruby's lock, and what measures it.
        # Written by its thread only.
        WorkerState = Struct.new(:thread, :unit, :ran_us, :meter)
        NO_FIGURES = [0, 0, 0].freeze
        private_constant :WorkerState, :NO_FIGURES

        # Called by loops when units are queued and no worker is idle: starts more workers, as far as more are allowed.
        # @param count [Integer] how many could be used
        def grow(count = 1)
          return unless count.positive?
          @lock.synchronize do
            @workers.select!(&:alive?)
            [count, @concurrency - @workers.size].min.times do
              add_locked(@workers, "penstock worker #{@workers.size}", @priority) { work }
            end
          end
        end

        # Changes how many workers there may be. An increase takes effect at once. After a decrease, idle workers end at once,
        # others after their unit; none is interrupted. Any thread.
        # @param concurrency [Integer]
        def scale(concurrency)
          more = @lock.synchronize do
            before, @concurrency = @concurrency, concurrency
            concurrency - before
          end
          @queue.recall
          grow(@queue.startable) if more.positive?
        end

        # Called when a hook was pushed and no worker waits for hooks.
        def start_hook_worker
          @lock.synchronize do
            @hook_workers.select!(&:alive?)
            add_locked(@hook_workers, "penstock hooks", 0) { work_on_hooks } || @queue.hook_taker_gone
          end
        end

        # Raises an error in user code of these units; code that has already ended is not affected.
        # @param these [Array<Processing::Lane, Processing::Unit>] units, or lanes with all their units
        # @param error [Exception]
        # @return [Array<Processing::Unit>] units that were interrupted
        def interrupt(these, error = Interrupted.new)
          @lock.synchronize do
            @interrupting = true
            hit = running_locked.select { |_thread, unit| unit.among?(these) }
            hit.each { |thread, _unit| thread.raise(error.dup) }
            hit.map(&:last)
          end
        end

        # @return [Array<Array(Thread, Processing::Unit)>] the running units, each with its thread
        def running = @lock.synchronize { running_locked }

        # @return [Integer]
        def size = @workers.size

        # The figures of all workers' meters, those of workers that have ended, too.
        # @return [Array(Integer, Integer, Integer)] nanoseconds: busy, the part of it that was spent waiting for Ruby's lock, and
        #   holding the lock. Holding is nil where that isn't known. Any thread
        def figures
          @lock.synchronize { @states.map(&:meter).compact.map(&:read).reduce(@ended_figures) { |sum, one| add(sum, one) } }
        end

        # @return [Boolean] whether units wait for a worker. Any thread
        def queued? = @queue.size.positive?

        # Lets idle workers end, and waits for the others.
        # @param timeout_s [Float]
        # @return [Boolean] whether all have ended
        def close(timeout_s)
          @queue.close
          ends = Clock.seconds + timeout_s
          [*@workers, *@hook_workers].all? do |thread|
            thread.join([ends - Clock.seconds, 0].max)
          end
        end

        private

        # A unit may end meanwhile: each is read once.
        def running_locked = @states.map { |state| [state.thread, state.unit] }.select(&:last)

        # Must be called with the lock held. If no thread can be started (the process is ending, or has reached its limit), the
        # existing workers continue, and it is tried again ({#start_missing}).
        # @return [Array<Thread>, nil] nil where none was started
        def add_locked(workers, name, priority, &block)
          workers << @threads.start(name, priority: priority, &block)
        rescue ThreadError => error
          @threads.report(name, error)
          nil
        end

        # An error raised in a worker from outside takes effect in user code only.
        def work
          through = false
          with_state(@meters) do |state|
            until retire_if_surplus
              slot, units = @queue.take_chunk
              break if slot.nil? && @queue.closed?
              run_measured(state, slot, units) if slot
            end
            through = true
          end
        ensure
          through ? @queue.wake_worker : replace
        end

        # Starts another worker, because user code ended this thread: queued units must not wait until more are pushed.
        def replace
          @lock.synchronize do
            @workers.delete(Thread.current)
            next if @queue.closed?
            @workers << @threads.start("penstock worker #{@workers.size}", priority: @priority) { work }
          end
        rescue ThreadError
          @queue.wake_worker # the process is ending, or has reached its limit
        end

        # Removes this worker from the list if there are more than allowed.
        # @return [Boolean] whether it must end
        def retire_if_surplus
          return false if @workers.size <= @concurrency
          @lock.synchronize do
            @workers.select!(&:alive?)
            !@workers.delete(Thread.current).nil? if @workers.size > @concurrency
          end
        end

        def work_on_hooks
          through = false
          with_state do |state|
            while (slot, unit = @queue.take_hook(HOOK_WORKER_IDLE_S))
              run_all(state, slot, [unit])
            end
            through = true
          end
        ensure
          @queue.hook_taker_gone unless through # this thread was killed
        end

        # @param meters [#open, nil]
        def with_state(meters = nil)
          state = WorkerState.new(Thread.current, nil, 0, meters&.open)
          @lock.synchronize { @states << state }
          Thread.handle_interrupt(MASKED) { yield state }
        ensure
          @lock.synchronize { forget_locked(state) }
        end

        # The figures of a worker that ends still count.
        def forget_locked(state)
          @states.delete_if { |each| each.equal?(state) }
          meter = state&.meter or return
          meter.close
          @ended_figures = add(@ended_figures, meter.read)
        end

        def add(sum, figures) = sum.zip(figures).map { |one, other| one && other && one + other }

        # If the thread is killed meanwhile, it stays busy until its meter is closed.
        def run_measured(state, slot, units)
          meter = state.meter or return run_all(state, slot, units)
          meter.busy
          run_all(state, slot, units)
          meter.idle
        end

        # Quick units that were taken together may be withdrawn between two of them, and user code may end the thread. In either
        # case the slot learns once that this worker has finished, and units that were not begun go to another worker.
        # @param units [Array<Processing::Unit>] shared with the queue
        def run_all(state, slot, units)
          through = false
          while !through && (unit = units.shift)
            ended = run(state, slot, last = unit) do |outcome|
              through = units.empty?
              through ? finish(slot, unit, outcome) : slot.mailbox.post_quietly(outcome)
            end
            pass_if_due(state, ended&.time_us || 0)
          end
        ensure
          return_units(slot, last, units) unless through
        end

        # The unit is removed from the state before late interrupts are dropped, so no interrupt can come after that. Errors that
        # were raised in this thread while it had no unit are dropped.
        def run(state, slot, unit)
          drop_late_interrupts
          state.unit = unit
          outcome = @runner.call(slot, unit)
        ensure
          clear_unit(state) { yield outcome || unstoppable { @runner.broken(unit) } }
        end

        # If the thread is killed in this method, it ends after the block; within the block only unstoppable code may wait.
        def clear_unit(state)
          state.unit = nil
          @lock.synchronize { nil } if @interrupting # an interrupt may be about to be raised in this thread
          drop_late_interrupts
        ensure
          yield
        end

        def unstoppable(&) = Thread.handle_interrupt(UNSTOPPABLE, &)

        # The run queue is informed before the outcome is posted, because the loop's reaction to the outcome ends the stall.
        def finish(slot, unit, outcome)
          unstoppable do
            @queue.finished(slot, unit, outcome.stalls?)
            slot.mailbox.post(outcome)
          end
        end

        # Ruby takes its global lock from a computing thread only every 100 ms, and gives it to the thread that has waited
        # longest: with ten such workers the poll loop would run once a second. Between two units, releasing the lock costs
        # little.
        def pass_if_due(state, took_us)
          state.ran_us += took_us
          return if state.ran_us < TURN_US
          state.ran_us = 0
          Thread.pass
        end

        def return_units(slot, unit, units)
          @queue.give_back(slot, units)
          @queue.finished(slot, unit, false)
          slot.mailbox.wake_up
        end

        # Drops errors that were raised in this thread too late; a kill stays pending.
        def drop_late_interrupts
          nil while Thread.pending_interrupt? && drop_late_interrupt
        end

        # @return [Boolean] whether an error was raised here, and dropped
        def drop_late_interrupt
          Thread.handle_interrupt(Exception => :immediate) { Thread.pass }
          false
        rescue Exception # rubocop:disable Lint/RescueException -- it was meant for user code that has ended
          true
        end
      end
    end
  end
end
