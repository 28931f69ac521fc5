# frozen_string_literal: true

require_relative "../clock"

module Penstock
  module Runtime
    # Delivers the loops' events to the listeners on a thread of its own, so that a slow listener never blocks a loop. The queue
    # is bounded: when it is full, new events are dropped and counted; the last places are reserved for errors.
    #
    # Started with the first event, ended by {#close}, which delivers the queued events.
    class Reporter
      CAPACITY = 10_000
      RESERVED_FOR_ERRORS = 1_000
      # A listener that takes longer keeps all others from being called (ms).
      STUCK_MS = 10_000
      # Files of Penstock itself: a listener's place is outside of them.
      OWN = "#{File.expand_path("../..", __dir__)}/"
      private_constant :CAPACITY, :RESERVED_FOR_ERRORS, :STUCK_MS, :OWN

      # @param monitor [Instrumentation::Monitor]
      # @param threads [Threads]
      # @param capacity [Integer] events that may be queued
      # @param reserved [Integer] part of the capacity that is reserved for errors
      # @param clock [Clock]
      def initialize(monitor, threads, capacity: CAPACITY, reserved: RESERVED_FOR_ERRORS, clock: Clock::SYSTEM)
        @clock = clock
        @capacity = capacity
        @reserved = reserved
        @monitor = monitor
        @threads = threads
        @queue = Thread::Queue.new
        @lock = Mutex.new
        @thread = nil
        @dropped = 0
      end

      # @param name [String] event
      # @param payload [Hash, #call] a payload that is costly to build is built on the reporter's thread
      def emit(name, payload)
        return unless @monitor.subscribed?(name)
        return drop unless room?(name)
        start unless @thread&.alive?
        @queue << [name, payload]
      rescue ClosedQueueError
        drop # closed between check and push: an event must never raise into a loop
      end

      # Runs work that takes too long for a loop between two events; dropped like an event when the queue is full.
      def later(&work)
        return drop unless room?(nil)
        start unless @thread&.alive?
        @queue << [nil, work]
      rescue ClosedQueueError
        drop
      end

      # @return [Integer] events dropped because the queue was full
      attr_reader :dropped

      # @return [Boolean] whether the event has a listener; if not, the payload needn't be built
      def subscribed?(name) = @monitor.subscribed?(name)

      # Reports the listener that has blocked the thread for long; nothing else is logged or reported meanwhile. Any thread.
      # @return [Array(String, String)] event, and the place in the listener; nil where none does. Once per event
      def stuck
        name, began = @delivering
        return if began.nil? || @clock.monotonic_ms - began < STUCK_MS
        @delivering = nil
        places = @thread&.backtrace_locations.to_a
        outside = places.find { |place| place.absolute_path && !place.path.start_with?(OWN) }
        [name || "a later event", (outside || places.first).to_s]
      end

      # Delivers the queued events and ends the thread.
      # @param timeout_s [Float]
      def close(timeout_s)
        @queue.close
        @thread&.join(timeout_s)
      end

      private

      def room?(name)
        return false if @queue.closed?
        @queue.size < ((name == "error.occurred") ? @capacity : @capacity - @reserved)
      end

      def drop
        @lock.synchronize { @dropped += 1 }
        nil
      end

      def start
        @lock.synchronize do
          @thread = @threads.start("penstock reporter") { deliver } unless @thread&.alive? # a listener may have ended it
        end
      end

      # An event whose payload can't be built must not end the reporter.
      def publish(name, payload)
        return payload.call unless name
        @monitor.instrument(name, payload.respond_to?(:call) ? payload.call : payload)
      rescue => error
        @monitor.instrument("error.occurred", {type: "callbacks.statistics.error", error: error})
      end

      def deliver
        while (name, payload = @queue.pop)
          @delivering = [name, @clock.monotonic_ms]
          publish(name, payload)
          @delivering = nil
        end
      end
    end
  end
end
