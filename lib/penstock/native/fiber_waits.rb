# frozen_string_literal: true

require_relative "../clock"

module Penstock
  module Native
    # Fibers that wait for deliveries of one client while their thread goes on. The client says by number which deliveries are
    # resolved; one Ruby thread, started with the first such wait and gone when the client is closed, wakes their fibers, also
    # when their time is over.
    #
    # A fiber is woken exactly once, and takes that in before it goes on, however its wait ends: a scheduler remembers whom it
    # was told to wake, and what comes late would end whatever the fiber waits for by then. (Ruby's own condition variables
    # lose their lock when a fiber's wait is ended by an exception, in 3.1.)
    class FiberWaits
      # A fiber that waits: until when (monotonic ms or nil), whether its scheduler was told to wake it, and whether it has
      # taken that in.
      Entry = Struct.new(:scheduler, :fiber, :until_ms, :told, :awake)

      # @param client [Producer]
      def initialize(client, clock: Clock::SYSTEM)
        @client = client
        @clock = clock
        @lock = Mutex.new
        @waiting = {}
        @last = 0
        @next_ms = nil
      end

      # @param delivery [Delivery]
      # @param timeout_ms [Integer, nil] nil waits for ever
      # @param urgent [Boolean] whether what is queued is to leave at once meanwhile
      # @return [Boolean] whether its fate is known
      def wait(delivery, timeout_ms, urgent)
        until_ms = timeout_ms && (@clock.monotonic_ms + timeout_ms)
        entry = Entry.new(Fiber.current_scheduler, Fiber.current, until_ms, false, false)
        number = enter(entry)
        begin
          rest(entry) if @client.watch(delivery, number, urgent)
        ensure
          leave(delivery, number, entry)
        end
        delivery.done?
      end

      private

      # -- in the fiber --

      def enter(entry)
        @lock.synchronize do
          start unless @thread&.alive?
          @waiting[@last += 1] = entry
          hasten(entry.until_ms) if entry.until_ms
          @last
        end
      end

      # At least once, also where it was told of before it rests.
      def rest(entry)
        until entry.awake
          entry.scheduler.block(self, nil)
          entry.awake = entry.told
        end
      end

      # Whoever was told of but not woken yet waits for that.
      def leave(delivery, number, entry)
        delivery.unwatch(number)
        told = @lock.synchronize do
          @waiting.delete(number)
          entry.told
        end
        entry.scheduler.block(self, nil) if told && !entry.awake
      end

      # -- in the thread --

      # Must be called with the lock held.
      def start
        @thread = Thread.new { run }
        @thread.name = "penstock fiber waits"
      end

      def run
        while (numbers = @client.take_watched(left_ms))
          wake { numbers.filter_map { |number| @waiting.delete(number) } + late }
        end
      end

      # A scheduler may be told of a fiber that isn't at rest yet: then it goes on as soon as it is.
      def wake
        entries = @lock.synchronize { yield.each { |entry| entry.told = true } }
        entries.each { |entry| tell(entry) }
      end

      # A scheduler that has ended wakes nobody any more; the others' fibers have only this thread.
      def tell(entry)
        entry.scheduler.unblock(self, entry.fiber)
      rescue
        nil
      end

      # -- time --

      # Must be called with the lock held. The thread is roused when it would sleep for longer.
      def hasten(until_ms)
        return if @next_ms && @next_ms <= until_ms

        @next_ms = until_ms
        @client.rouse_watched
      end

      def left_ms
        next_ms = @next_ms
        next_ms && [next_ms - @clock.monotonic_ms, 0].max
      end

      # Must be called with the lock held. Looks at all of them only when the time of one may be over.
      #
      # @return [Array<Entry>] whose time is over
      def late
        now_ms = @clock.monotonic_ms
        return [] unless @next_ms && @next_ms <= now_ms

        late = @waiting.select { |_, entry| entry.until_ms && entry.until_ms <= now_ms }
        late.each_key { |number| @waiting.delete(number) }
        @next_ms = @waiting.each_value.filter_map(&:until_ms).min
        late.values
      end
    end
  end
end
