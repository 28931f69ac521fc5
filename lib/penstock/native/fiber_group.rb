# frozen_string_literal: true

require_relative "../native"

module Penstock
  module Native
    # Lets the fibers of one scheduler wait for deliveries of one client. One fiber is the leader: it waits, as for any IO, for
    # a descriptor that the client writes to, and wakes the fibers whose delivery is resolved or whose timeout has passed. When
    # the leader's own wait has ended, another fiber becomes the leader. So there is no thread between the client and the
    # scheduler, and nothing stays in a scheduler longer than the waits themselves.
    #
    # Used by the scheduler's thread only, until it is lent to another scheduler: see {FiberWaits}.
    #
    # A fiber is woken exactly once, and consumes that wakeup before it continues, however its wait ends: a scheduler remembers
    # which fibers it has to unblock, and a late wakeup would end the fiber's next wait. (Ruby's own condition variables lose
    # their lock when a fiber's wait is ended by an exception, in 3.1.)
    class FiberGroup
      # A waiting fiber. `settled`: its number came; `roused`: the scheduler was asked to unblock it and the fiber hasn't consumed
      # that.
      Entry = Struct.new(:fiber, :settled, :roused)

      # Waking fibers and passing on the leadership can't be cut short: an interrupt of the thread waits until they are done.
      # (A kill isn't an Exception, hence Object.) Ruby uses a Hash that compares by identity as it is, without a copy.
      WHOLE = {Object => :never}.compare_by_identity.freeze

      # Seconds within which a scheduler gets to a fiber that it was asked to unblock. If an interrupt arrives while that fiber
      # wakes up, there is no way to know whether the scheduler has already done so.
      ROUND = 1

      # The descriptor that the leader waits for. Schedulers ask an IO for its timeout, which Ruby's own have from 3.2 on.
      class Descriptor < IO
        def timeout = nil
      end
      private_constant :Entry, :WHOLE, :ROUND, :Descriptor

      def initialize
        @watched = Completions.new
        @io = Descriptor.for_fd(@watched.fd, "r", autoclose: false)
        @scheduler = @thread = nil
        @waiting = {}
        @numbers = []
        @last = @inside = 0
        @leader = nil
      end

      # Called by the thread whose fibers will wait here.
      #
      # @param scheduler [Object] see Fiber::Scheduler
      # @return [self]
      def lend(scheduler)
        @scheduler = scheduler
        @thread = Thread.current
        self
      end

      # @return [Boolean] whether its thread has ended, and with it the fibers, without cleaning up
      def abandoned? = !@thread.alive?

      # @return [Boolean] whether no fiber is in {#wait}
      def empty? = @inside.zero?

      # @return [void]
      def close = @watched.close

      # See {FiberWaits#wait}.
      def wait(delivery, timeout_ms, urgent)
        @inside += 1
        number = @last += 1
        entry = @waiting[number] = Entry.new(Fiber.current, false, false)
        watching = @watched.watch(delivery, number, timeout_ms, urgent)
        rest(entry) if watching
        delivery.done?
      ensure
        leave(delivery, number, entry, watching)
      end

      private

      def rest(entry)
        until entry.settled
          @leader ||= entry
          @leader.equal?(entry) ? lead(entry) : follow(entry)
        end
      end

      # An exception of the scheduler may have ended an earlier leader that had taken these numbers and not woken their fibers
      # yet.
      def lead(entry)
        settle_all
        return if entry.settled

        @scheduler.io_wait(@io, IO::READABLE, nil)
        @watched.take(@numbers)
        settle_all
      end

      def follow(entry, limit = nil)
        @scheduler.block(self, limit)
        entry.roused = false
      end

      def settle_all
        return if @numbers.empty?

        Thread.handle_interrupt(WHOLE) { settle(@numbers.shift) until @numbers.empty? }
      end

      def settle(number)
        entry = @waiting.delete(number) or return
        entry.settled = true
        rouse(entry) unless entry.equal?(@leader)
      end

      def rouse(entry)
        return if entry.roused

        entry.roused = true
        @scheduler.unblock(self, entry.fiber)
      end

      # A delivery that a forked child's fiber couldn't watch belongs to the parent, whose locks the child must not take.
      def leave(delivery, number, entry, watching)
        @waiting.delete(number)
        pass_on if @leader.equal?(entry)
        @watched.unwatch(delivery, number) if watching && !entry.settled
      ensure
        awake(entry)
      end

      # A fiber that the scheduler was asked to unblock waits for that before it continues.
      def awake(entry)
        follow(entry, ROUND) if entry.roused
      ensure
        @inside -= 1
      end

      def pass_on
        Thread.handle_interrupt(WHOLE) do
          _, @leader = @waiting.first
          rouse(@leader) if @leader
        end
      end
    end
  end
end
