# frozen_string_literal: true

module Penstock
  module Instrumentation
    # Publishes on a thread of its own what happens on threads that must never wait for a listener.
    #
    # Poll loops call {#instrument} and go on at once; one thread, made by the thread factory, runs {#run} until {#close}.
    # The queue is bounded: when listeners are slower than events for long, events are dropped and counted rather than
    # memory filled.
    class Reporter
      LIMIT = 10_000

      # @param monitor [Monitor]
      # @param limit [Integer] how many events may wait
      def initialize(monitor, limit: LIMIT)
        @monitor = monitor
        @queue = Thread::SizedQueue.new(limit)
        @dropped = 0
      end

      # @return [Integer] events nobody heard of because listeners were too slow
      attr_reader :dropped

      # Hands an event over. Never waits, never raises.
      #
      # @return [Boolean] whether there was room
      def instrument(name, payload = {})
        @queue.push([name, payload], true)
        true
      rescue ThreadError, ClosedQueueError
        @dropped += 1
        false
      end

      # @return [Boolean] whether anybody listens: ask it before building a payload
      def subscribed?(name)
        @monitor.subscribed?(name)
      end

      # Publishes until closed and empty. The body of the reporter's thread.
      def run
        while (name, payload = @queue.pop)
          @monitor.instrument(name, payload)
        end
      end

      # What waits is still published, then {#run} returns.
      def close
        @queue.close
      end
    end
  end
end
