# frozen_string_literal: true

module Penstock
  module Runtime
    # Delivers the loops' events to the listeners on a thread of its own, so that a slow listener never blocks a loop. The queue
    # is bounded: when it is full, the newest events are dropped and counted, errors last.
    #
    # Started with the first event, ended by {#close}, which delivers the queued events.
    class Reporter
      CAPACITY = 10_000
      RESERVED_FOR_ERRORS = 1_000
      private_constant :CAPACITY, :RESERVED_FOR_ERRORS

      # @param monitor [Instrumentation::Monitor]
      # @param threads [Threads]
      # @param capacity [Integer] events that may be queued
      # @param reserved [Integer] part of the capacity that is reserved for errors
      def initialize(monitor, threads, capacity: CAPACITY, reserved: RESERVED_FOR_ERRORS)
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
          publish(name, payload)
        end
      end
    end
  end
end
