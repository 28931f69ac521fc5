# frozen_string_literal: true

require_relative "../native"

module Penstock
  module Native
    # The fibers of one scheduler that wait for deliveries of one client. One of them leads: it waits for a descriptor that the
    # client writes to, as for any other, and rouses whose delivery is resolved or whose time is over. When it has nothing to
    # wait for any more, another leads. So nobody stands between the client and the scheduler, and nothing lives in a
    # scheduler any longer than the waits themselves.
    #
    # Touched by the scheduler's thread alone, until it is lent to another scheduler: see {FiberWaits}.
    #
    # A fiber is woken exactly once, and takes that in before it goes on, however its wait ends: a scheduler remembers whom it
    # was told to wake, and what comes late would end whatever the fiber waits for by then. (Ruby's own condition variables
    # lose their lock when a fiber's wait is ended by an exception, in 3.1.)
    class FiberGroup
      # A fiber that waits: whether its number came, and whether the scheduler was told to wake it, which it hasn't taken in.
      Entry = Struct.new(:fiber, :told, :roused)

      # What is told, and who leads, is told whole: an interrupt of the thread waits for that. (A kill isn't an Exception.)
      # By identity Ruby takes it as it is, without a copy.
      WHOLE = {Object => :never}.compare_by_identity.freeze

      # Seconds in which a scheduler comes round to whom it was told to wake. Whether it did can't be known where an interrupt
      # comes as that one awakes.
      ROUND = 1

      # What the leader waits for. Schedulers ask an IO for its time limit, which Ruby's own have from 3.2 on.
      class Descriptor < IO
        def timeout = nil
      end
      private_constant :Entry, :WHOLE, :ROUND, :Descriptor

      def initialize
        @watched = Watched.new
        @io = Descriptor.for_fd(@watched.fd, "r", autoclose: false)
        @scheduler = @thread = nil
        @waiting = {}
        @numbers = []
        @last = @inside = 0
        @leader = nil
      end

      # Called by the thread whose fibers wait from here on.
      #
      # @param scheduler [Object] see Fiber::Scheduler
      # @return [self]
      def lend(scheduler)
        @scheduler = scheduler
        @thread = Thread.current
        self
      end

      # @return [Boolean] whether its fibers are gone with their thread, and have left nothing in order
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
        until entry.told
          @leader ||= entry
          @leader.equal?(entry) ? lead(entry) : follow(entry)
        end
      end

      # Numbers may lie here of which a leader was told whom an exception of the scheduler has ended.
      def lead(entry)
        tell_all
        return if entry.told

        @scheduler.io_wait(@io, IO::READABLE, nil)
        @watched.take(@numbers)
        tell_all
      end

      def follow(entry, limit = nil)
        @scheduler.block(self, limit)
        entry.roused = false
      end

      def tell_all
        return if @numbers.empty?

        Thread.handle_interrupt(WHOLE) { tell(@numbers.shift) until @numbers.empty? }
      end

      def tell(number)
        entry = @waiting.delete(number) or return
        entry.told = true
        rouse(entry) unless entry.equal?(@leader)
      end

      def rouse(entry)
        return if entry.roused

        entry.roused = true
        @scheduler.unblock(self, entry.fiber)
      end

      # What a child's fiber couldn't watch is its parent's, whose locks it must not take.
      def leave(delivery, number, entry, watching)
        @waiting.delete(number)
        pass_on if @leader.equal?(entry)
        @watched.unwatch(delivery, number) if watching && !entry.told
      ensure
        awake(entry)
      end

      # Whoever was roused but isn't awake yet waits for that.
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
