# frozen_string_literal: true

module Penstock
  module Runtime
    # Where units wait for a worker. Fair between lanes (each gets its turn) and between topics (where several are routed, one
    # topic never takes the last worker).
    #
    # A lane's units run one after another, in order: the second waits behind the first and starts only when the first went
    # smoothly. One that failed, or asked to pause or seek, *stalls* its lane: nothing of it starts until the loop has
    # called back what waits and decided. Hooks go before everything.
    #
    # Loops push, workers take; one lock guards all, held for a few operations and never while calling out.
    class RunQueue
      # What the queue knows about a lane.
      class Slot
        attr_reader :topic, :context, :mailbox, :pending
        attr_accessor :running, :queued, :stalled, :consumer

        # @param topic [Object] equal for lanes that share a worker limit
        # @param context [Consumer::Context] what the lane's consumer works with
        # @param mailbox [Mailbox] where outcomes go
        def initialize(topic, context = nil, mailbox = nil)
          @topic = topic
          @context = context
          @mailbox = mailbox
          @pending = []
          @running = false
          @queued = false
          @stalled = false
        end
      end

      # @param limit_of [#call] gives the number of workers a topic may hold
      def initialize(limit_of = ->(_topic) { Float::INFINITY })
        @limit_of = limit_of
        @lock = Mutex.new
        @work = ConditionVariable.new
        @hooks = []
        @ready = []
        @running = Hash.new(0)
        @waiting = Hash.new(0)
        @idle = 0
        @closed = false
      end

      # @param slot [Slot]
      # @param unit [Processing::Unit]
      # @return [Boolean] whether more waits than there are idle workers
      def push(slot, unit)
        @lock.synchronize do
          slot.pending << unit
          enqueue_locked(slot)
          @ready.size > @idle
        end
      end

      # A hook of a lane whose units have ended: before everything else.
      def push_hook(slot, unit)
        @lock.synchronize do
          @hooks << [slot, unit]
          @work.signal
        end
      end

      # Waits for a unit.
      # @param hooks_only [Boolean] for the spare worker that hooks never have to wait behind user code
      # @param timeout_s [Float, nil] seconds
      # @return [Array(Slot, Unit), nil] nil when closed, or nothing came in time
      def take(hooks_only: false, timeout_s: nil)
        @lock.synchronize do
          loop do
            found = hooks_only ? @hooks.shift : next_locked
            return found if found || @closed
            return unless wait_locked(timeout_s)
          end
        end
      end

      # The worker is done with the unit it took.
      # @param stall [Boolean] whether the lane's following units must wait for the loop
      def finished(slot, unit, stall)
        @lock.synchronize do
          next if unit.hook?
          slot.running = false
          slot.stalled ||= stall
          @running[slot.topic] -= 1
          enqueue_locked(slot)
          @work.signal if @ready.any?
        end
      end

      # Calls back what has not started and lets the lane run again.
      # @return [Array<Unit>] in order
      def withdraw(slot)
        @lock.synchronize do
          units = slot.pending.dup
          slot.pending.clear
          dequeue_locked(slot)
          slot.stalled = false
          units
        end
      end

      # @param topic [Object]
      # @return [Integer] lanes of the topic whose next unit only waits for a worker
      def waiting(topic) = @waiting[topic]

      # @return [Integer] workers that wait for work
      def idle = @idle

      # Lets every waiting worker go.
      def close
        @lock.synchronize do
          @closed = true
          @work.broadcast
        end
      end

      # @return [Hash] counts for dumps
      def snapshot
        @lock.synchronize do
          {ready: @ready.size, hooks: @hooks.size, idle_workers: @idle, running: @running.values.sum}
        end
      end

      private

      # All below: must be called with the lock held.

      def enqueue_locked(slot)
        return if slot.running || slot.queued || slot.stalled || slot.pending.empty?
        slot.queued = true
        @ready << slot
        @waiting[slot.topic] += 1
        @work.signal
      end

      def dequeue_locked(slot)
        return unless slot.queued
        slot.queued = false
        @ready.delete(slot)
        @waiting[slot.topic] -= 1
      end

      def next_locked
        return @hooks.shift if @hooks.any?
        index = @ready.index { |slot| allowed_locked?(slot) } or return
        slot = @ready.delete_at(index)
        start_locked(slot)
      end

      def start_locked(slot)
        slot.queued = false
        slot.running = true
        @waiting[slot.topic] -= 1
        @running[slot.topic] += 1
        [slot, slot.pending.shift]
      end

      def allowed_locked?(slot) = @running[slot.topic] < @limit_of.call(slot.topic)

      # @return [Boolean] false when the time is over
      def wait_locked(timeout_s)
        @idle += 1
        started = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) if timeout_s
        @work.wait(@lock, timeout_s)
        timeout_s.nil? || ::Process.clock_gettime(::Process::CLOCK_MONOTONIC) - started < timeout_s
      ensure
        @idle -= 1
      end
    end
  end
end
