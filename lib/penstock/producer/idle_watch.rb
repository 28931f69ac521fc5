# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"

module Penstock
  class Producer
    # Disconnects a producer that hasn't taken a message for a while. Owns a thread from the opening of the client to its end,
    # which looks at how many messages the client has taken; statistics aren't needed for it.
    class IdleWatch
      # How often it looks within the time.
      LOOKS = 10

      # @param producer [#disconnect]
      # @param client [Native::Producer]
      # @param timeout_ms [Integer]
      def initialize(producer, client, timeout_ms, clock: Clock::SYSTEM)
        @producer = producer
        @client = client
        @timeout_ms = timeout_ms
        @clock = clock
        @accepted = nil
        @stopped = false
        @lock = Mutex.new
        @stop = ConditionVariable.new
      end

      # @return [self]
      def start
        Thread.new { run }.name = "penstock idle watch"
        self
      end

      # Doesn't wait for its thread, which may be the caller.
      #
      # @return [void]
      def stop
        @lock.synchronize do
          @stopped = true
          @stop.signal
        end
      end

      # @return [Boolean] whether the client has taken nothing for the whole time
      def idle?
        accepted = @client.accepted
        now_ms = @clock.monotonic_ms
        @since_ms = now_ms unless accepted == @accepted
        @accepted = accepted
        now_ms - @since_ms >= @timeout_ms
      end

      private

      def run
        until over?
          @producer.disconnect if idle?
        end
      rescue HandleClosedError
        nil # closed between two looks
      rescue => error
        @producer.monitor.instrument("error.occurred", type: "producer.disconnect.error", error: error,
          producer_id: @producer.id)
      end

      # Waits for the next look.
      def over?
        @lock.synchronize do
          @stop.wait(@lock, @timeout_ms / LOOKS / 1_000.0) unless @stopped
          @stopped || @client.closed?
        end
      end
    end
  end
end
