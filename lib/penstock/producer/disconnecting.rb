# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"
require_relative "shutdown"
require_relative "status"

module Penstock
  class Producer
    # Lets go of a client that has nothing to do: its connections would be dropped in silence by whatever stands between, and
    # the next message would wait for that to be found out. The next call opens another one.
    module Disconnecting
      # Closes the client, if nothing of it is under way: no message, no call, no transaction, and the buffer is empty.
      # Settings, middleware and listeners stay; the next call connects again.
      #
      # @return [Boolean] whether it did
      def disconnect
        return false unless disconnectable?

        instrument("producer.disconnecting")
        put_away
      rescue ProducerClosedError
        false
      end

      # @return [Boolean] whether {#disconnect} would do it now
      def disconnectable?
        return false unless @transactions.nil? || @transactions.idle?

        status.connected? && @operations.none? && @buffer.empty? && queue_size.zero?
      end

      private

      # Listeners are told, and waited for, with no lock held: theirs may be the call that waits for it.
      def put_away
        started_us = Clock::SYSTEM.monotonic_us
        reporter = @transactions ? @transactions.between { let_idle_go } : let_idle_go
        return false unless reporter

        reporter.join(Shutdown::LISTENERS_MS)
        instrument("producer.disconnected", time: (Clock::SYSTEM.monotonic_us - started_us) / 1_000.0)
        true
      end

      def let_idle_go
        @lock.synchronize { close_idle }
      end

      # Must be called with the lock held, for which who wants to connect waits. Who came before that is counted.
      #
      # @return [Reporter, nil] nil when there is something under way
      def close_idle
        return unless status.connected?

        @status = Status::DISCONNECTING
        return unless @operations.none? && @buffer.empty? && @client.close_idle

        @idle_watch&.stop
        @sending = nil
        @status = Status::DISCONNECTED
        @reporter
      ensure
        @status = Status::CONNECTED if status.disconnecting?
      end
    end
  end
end
