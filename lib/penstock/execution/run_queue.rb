# frozen_string_literal: true

require_relative "run_queue/slot"

module Penstock
  module Execution
    # The queue in which units wait for a worker; each executor has one. Fair between lanes (they take turns) and between topics
    # (if several are routed, one topic never takes the last worker; a topic with a higher priority goes first, and topics of
    # the same priority share by weight).
    #
    # A slot's units start in the order in which they were pushed, at most `width` at once. With a width of one, the second waits
    # for the first and starts only if the first succeeded without a request: a unit that failed, or requested to pause or seek,
    # *stalls* the slot, and none of its units starts until the loop has withdrawn the waiting ones and decided. By key, units
    # don't depend on each other and nothing stalls. Hooks run before all units.
    #
    # Loops push, workers take; one lock guards everything, held for a few operations and never while calling out.
    class RunQueue
      # Most quick units that a worker takes together.
      CHUNK = 32
      private_constant :CHUNK

      # @param limit_of [#call] returns the number of workers a topic may hold
      # @param rank_of [#call, nil] returns a topic's rank by the number of workers it holds: the lowest rank comes first; nil
      #   where all topics are equal
      def initialize(limit_of = ->(_topic) { Float::INFINITY }, rank_of = nil)
        @limit_of = limit_of
        @rank_of = rank_of
        @lock = Mutex.new
        @work = ConditionVariable.new
        @hook_work = ConditionVariable.new
        @hooks = []
        @hook_takers = 0
        @ready = []
        @running = Hash.new(0)
        @waiting = Hash.new(0)
        @awaiting = {}
        @idle = 0
        @quick = []
        @wide = false
        @recalls = 0
        @closed = false
      end

      # @return [Boolean] whether all workers are to end
      def closed? = @closed

      # @param slot [Slot]
      # @param units [Array<Processing::Unit>]
      # @return [Integer] workers that could be used in addition to the idle ones
      def push(slot, *units)
        @lock.synchronize do
          @wide ||= slot.width > 1
          slot.pending.concat(units)
          enqueue_locked(slot)
          startable_locked
        end
      end

      # Pushes a hook of a lane whose units have ended: it runs before all units.
      # @return [Boolean] whether the caller must start a worker for hooks, which then calls {#take_hook}
      def push_hook(slot, unit)
        @lock.synchronize do
          @hooks << [slot, unit]
          @work.signal
          @hook_work.signal
          next false if @hook_takers.positive?
          @hook_takers += 1
          true
        end
      end

      # Takes the next unit that may run.
      # @param wait [Boolean] whether to wait for one
      # @return [Array(Slot, Unit), nil] nil when closed, or when no unit may run and `wait` is false
      def take(wait: true)
        take_and_wake do
          nil until (found = next_locked) || @closed || !wait || !wait_locked
          found
        end
      end

      # Like {#take}; quick units of a slot are taken together.
      # @return [Array(Slot, Array<Processing::Unit>), nil] the units are shared: those that aren't begun may be taken from the
      #   worker again; nil also for workers that waited during {#recall}
      def take_chunk(wait: true)
        take_and_wake do
          recalls = @recalls
          nil until (found = next_locked) || @closed || !wait || recalls != @recalls || !wait_locked
          slot, unit = found
          unit && [slot, chunk_locked(slot, unit)]
        end
      end

      # Waits for a hook: for the spare worker, so that hooks never wait for user code. Hook workers wait on a condition of
      # their own: they must not consume the wake-up for a unit.
      # @param idle_s [Float] seconds without a hook after which the worker ends
      # @return [Array(Slot, Unit), nil] nil when closed, or when no hook came in time
      def take_hook(idle_s)
        @lock.synchronize do
          @hook_work.wait(@lock, idle_s) if @hooks.empty? && !@closed
          found = @hooks.shift
          @hook_takers -= 1 unless found
          found
        end
      end

      # A hook worker has ended in another way.
      def hook_taker_gone = @lock.synchronize { @hook_takers -= 1 }

      # The worker has finished the unit it took.
      # @param unit [Processing::Unit, nil] nil where its units were taken from it before it began one
      # @param stall [Boolean] whether the lane's following units must wait for the loop
      def finished(slot, unit, stall)
        @lock.synchronize do
          next if unit&.hook?
          slot.running -= 1
          unwatch_locked(slot) if slot.running.zero?
          slot.stalled ||= stall if slot.ordered?
          @running[slot.topic] -= 1
          enqueue_locked(slot)
        end
      end

      # @return [Boolean] whether single workers hold quick units, so that a loop must check on them ({#release_stuck})
      def quick_units? = !@quick.empty?

      # If a worker that holds quick units has begun none for a while, one of them is slow: other workers get the units that wait
      # for it.
      # @param now [Integer] monotonic ms
      # @param stuck_ms [Integer]
      # @return [Integer] workers that could be used in addition to the idle ones
      def release_stuck(now, stuck_ms)
        @lock.synchronize do
          stuck = @quick.select { |slot| slot.check_stuck(now, stuck_ms) }
          stuck.each { |slot| release_chunk_locked(slot) }
          stuck.empty? ? 0 : startable_locked
        end
      end

      # Units that were taken and didn't begin: they become the next of their slot again.
      # @param units [Array<Processing::Unit>] emptied
      def give_back(slot, units)
        @lock.synchronize { put_back_locked(slot, units.shift(units.size)) }
      end

      # A unit that was taken and didn't begin: it becomes the next of its slot again.
      def put_back(slot, unit)
        @lock.synchronize do
          slot.running -= 1
          @running[slot.topic] -= 1
          slot.pending.unshift(unit)
          enqueue_locked(slot)
        end
      end

      # Calls back the units that have not started, including those that a worker took together with the unit it runs.
      # @param unstall [Boolean] lets the lane run again; only for the caller that decides about the unit that stalled it
      # @return [Array<Unit>] in order
      def withdraw(slot, unstall: false)
        waiting_loops = nil
        units = @lock.synchronize do
          slot.stalled = false if unstall
          dequeue_locked(slot)
          waiting_loops = @awaiting.delete(slot.topic)
          slot.take_chunk_back.concat(slot.pending).tap { slot.pending.clear }
        end
        waiting_loops&.each(&:wake_up)
        units
      end

      # Called by a loop that finds no place for a partition of the topic. If partitions of other loops hold the places, the loop
      # is woken when one becomes free, because it gets only its own outcomes.
      # @param mailbox [Mailbox] the loop's
      # @return [Integer, nil] like {#waiting}; nil: other loops hold no places
      def await_place(topic, mailbox)
        @lock.synchronize do
          next if @ready.none? { |slot| slot.topic == topic && !slot.mailbox.equal?(mailbox) }
          @awaiting[topic] = [*@awaiting[topic], mailbox].uniq
          @waiting[topic]
        end
      end

      # @param topic [Object]
      # @return [Integer] slots of the topic whose next unit only waits for a worker
      def waiting(topic) = @waiting[topic]

      # @return [Integer] workers that could be used in addition to the idle ones
      def startable = @lock.synchronize { startable_locked }

      # @return [Integer] idle workers
      attr_reader :idle

      # Wakes a worker to check the queue, because another one ends without doing so.
      def wake_worker = @lock.synchronize { @work.signal }

      # Idle workers return without a unit, to check whether they are still needed.
      def recall
        @lock.synchronize do
          @recalls += 1
          @work.broadcast
        end
      end

      # Lets every idle worker end.
      def close
        @lock.synchronize do
          @closed = true
          @work.broadcast
          @hook_work.broadcast
        end
      end

      # @return [Hash{Symbol => Integer}] `busy`: workers that run a unit; `enqueued`: units that could start now
      def statistics
        @lock.synchronize { {busy: @running.values.sum, enqueued: @ready.sum(&:room) + @hooks.size} }
      end

      # @return [Integer] units that could start now
      def size = statistics.fetch(:enqueued)

      # @return [Hash] counts for dumps
      def snapshot
        @lock.synchronize do
          {ready: @ready.size, hooks: @hooks.size, idle_workers: @idle, running: @running.values.sum}
        end
      end

      private

      # Runs the block with the lock held, then wakes, without the lock, the loops that wait for a place of the topic, and the
      # slot's own if few units are left.
      # @return [Array(Slot, Object), nil] the block's result
      def take_and_wake
        waiting_loops = nil
        found = @lock.synchronize do
          yield.tap do |slot, _unit|
            next unless slot
            waiting_loops = @awaiting.delete(slot.topic) unless @awaiting.empty?
            (waiting_loops ||= []) << slot.mailbox if slot.take_low_mark
          end
        end
        # A worker that is killed here would lose the units.
        Thread.handle_interrupt(Object => :never) { waiting_loops.each(&:wake_up) } if waiting_loops
        found
      end

      # All below: must be called with the lock held.

      def enqueue_locked(slot)
        return if slot.queued || !slot.startable?
        slot.queued = true
        @ready << slot
        @waiting[slot.topic] += 1
        watch_locked(slot) if slot.quick
        @work.signal unless slot.quick && slot.running.positive?
      end

      # Several units of a wide slot may start at once; idle workers that were woken and haven't come yet are counted once.
      def startable_locked = (@wide ? @ready.sum(&:room) : @ready.size) + @hooks.size - @idle

      def dequeue_locked(slot)
        return unless slot.queued
        slot.queued = false
        @ready.delete(slot)
        @waiting[slot.topic] -= 1
      end

      def next_locked
        return @hooks.shift if @hooks.any?
        index = (@rank_of ? first_locked : @ready.index { |slot| allowed_locked?(slot) }) or return
        slot = @ready.delete_at(index)
        start_locked(slot)
      end

      # Of the slots with the same rank, the one that has waited longest.
      def first_locked
        allowed = @ready.each_index.select { |index| allowed_locked?(@ready[index]) }
        allowed.min_by do |index|
          topic = @ready[index].topic
          [*@rank_of.call(topic, @running[topic]), index]
        end
      end

      def start_locked(slot)
        # No other worker was woken for it, so the signal that brought this one was for another slot.
        unsignalled = slot.quick && slot.running.positive?
        slot.queued = false
        slot.running += 1
        @waiting[slot.topic] -= 1
        @running[slot.topic] += 1
        unit = slot.pending.shift
        enqueue_locked(slot)
        @work.signal if unsignalled && @idle.positive? && @ready.any? { |other| !other.quick || other.running.zero? }
        [slot, unit]
      end

      # Only where units of a slot don't wait for each other.
      def chunk_locked(slot, unit)
        return [unit] unless slot.quick && slot.running == 1 && unit.consume?
        watch_locked(slot)
        slot.chunk = [unit, *slot.pending.shift(CHUNK - 1)]
        dequeue_locked(slot) if slot.pending.empty?
        slot.chunk
      end

      def watch_locked(slot)
        @quick << slot unless @quick.include?(slot)
      end

      # No loop needs to check on it.
      def unwatch_locked(slot)
        slot.forget if @quick.delete(slot)
      end

      def release_chunk_locked(slot)
        unwatch_locked(slot)
        return (@work.signal if slot.queued) unless slot.units_waiting? # it may have been queued without a signal
        slot.quick = false
        put_back_locked(slot, slot.take_chunk_back)
        @work.broadcast
      end

      def put_back_locked(slot, units)
        slot.pending.unshift(*units)
        enqueue_locked(slot)
      end

      def allowed_locked?(slot) = @running[slot.topic] < @limit_of.call(slot.topic)

      # @return [true]
      def wait_locked
        @idle += 1
        @work.wait(@lock)
        true
      ensure
        @idle -= 1
      end
    end
  end
end
