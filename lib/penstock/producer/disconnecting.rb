# frozen_string_literal: true

require_relative "../clock"
require_relative "../errors"
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

        (@transactions ? @transactions.between { put_away } : put_away) || false
      rescue ProducerClosedError
        false
      end

      # @return [Boolean] whether {#disconnect} would do it now
      def disconnectable?
        status.connected? && @operations.none? && @buffer.empty? && !transaction? && queue_size.zero?
      end

      private

      # Listeners are told with no lock held.
      def put_away
        instrument("producer.disconnecting")
        started_us = Clock::SYSTEM.monotonic_us
        reporter = @lock.synchronize { close_idle } or return false
        reporter.join
        instrument("producer.disconnected", time: (Clock::SYSTEM.monotonic_us - started_us) / 1_000.0)
        true
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
