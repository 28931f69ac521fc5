# frozen_string_literal: true

require_relative "../deadline"

module Penstock
  module Native
    # Fibers that wait for deliveries of one client while their thread goes on. The client says by number which deliveries are
    # resolved; one Ruby thread, started with the first such wait and gone when the client is closed, wakes their fibers.
    #
    # A lock and condition variables of Ruby's do the waking: they know of every scheduler.
    class FiberWaits
      # @param client [Producer]
      def initialize(client)
        @client = client
        @lock = Mutex.new
        @waiting = {}
        @last = 0
      end

      # @param delivery [Delivery]
      # @param timeout_ms [Integer, nil] nil waits for ever
      # @param urgent [Boolean] whether what is queued is to leave at once meanwhile
      # @return [Boolean] whether its fate is known
      def wait(delivery, timeout_ms, urgent)
        deadline = Deadline.in(timeout_ms)
        wakening = ConditionVariable.new
        number = enter(wakening)
        return true unless @client.watch(delivery, number, urgent)

        @lock.synchronize { sleep_until(delivery, wakening, deadline) }
        delivery.done?
      ensure
        leave(delivery, number) if number
      end

      private

      def enter(wakening)
        @lock.synchronize do
          start unless @thread&.alive?
          @waiting[@last += 1] = wakening
          @last
        end
      end

      # Must be called with the lock held.
      def sleep_until(delivery, wakening, deadline)
        until delivery.done? || deadline.expired?
          left_ms = deadline.remaining_ms
          wakening.wait(@lock, left_ms && (left_ms / 1_000.0))
        end
      end

      def leave(delivery, number)
        delivery.unwatch(number)
        @lock.synchronize { @waiting.delete(number) }
      end

      # Must be called with the lock held.
      def start
        @thread = Thread.new { run }
        @thread.name = "penstock fiber waits"
      end

      def run
        while (numbers = @client.take_watched)
          @lock.synchronize { numbers.each { |number| @waiting[number]&.signal } }
        end
      end
    end
  end
end
