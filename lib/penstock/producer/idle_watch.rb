# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"

module Penstock
  class Producer
    # Disconnects a producer whose client has accepted no message for a while.
    #
    # Owned by an {OpenClient}. Its thread lives as long as the client and compares the number of accepted messages, which
    # needs no statistics. Ends with {#stop}.
    class IdleWatch
      # How many times it compares per timeout.
      LOOKS = 10

      # @param producer [Connection] with `disconnect`, `instrument`
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

      # Compares the number of accepted messages with the last one.
      #
      # @return [Boolean] true when the client has accepted nothing for the whole timeout
      def check
        accepted = @client.accepted
        now_ms = @clock.monotonic_ms
        @since_ms = now_ms unless accepted == @accepted
        @accepted = accepted
        now_ms - @since_ms >= @timeout_ms
      end

      private

      def run
        while await_next
          @producer.disconnect if check
        end
      rescue HandleClosedError
        nil # closed between two comparisons
      rescue => error
        @producer.instrument("error.occurred", type: "producer.disconnect.error", error: error)
      end

      # @return [Boolean] false if it was stopped or the client is closed
      def await_next
        @lock.synchronize do
          @stop.wait(@lock, @timeout_ms / LOOKS / 1_000.0) unless @stopped
          !@stopped && !@client.closed?
        end
      end
    end
  end
end
