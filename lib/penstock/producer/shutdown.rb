# frozen_string_literal: true

require_relative "../deadline"
require_relative "../errors"
require_relative "leftovers"

module Penstock
  class Producer
    # The end of a producer. Whatever happens it takes no longer than it was given, plus about a second for what can't be
    # left out; afterwards every delivery is resolved.
    module Shutdown
      # Time that listeners have at least to hear of the last deliveries, in ms. They go on hearing of them behind it.
      LISTENERS_MS = 1_000

      # What a close may take beyond its time limit, in ms.
      TRAP_MARGIN_MS = 5_000

      # Sends the buffer, waits for what is queued or in flight, then lets go of the client. What isn't delivered by then is
      # thrown away; a handle whose message may or may not have arrived ends as *unknown*. What wasn't delivered is counted, told
      # as `producer.undelivered`, and offered to `config.undelivered`.
      #
      # May be called again, by any thread, by a listener, in `at_exit` and in a signal handler. In a forked child it only
      # forgets its parent's client.
      #
      # A transaction that runs may come to its end within the time; no other begins.
      #
      # @param timeout_ms [Integer] milliseconds, `max_wait_timeout` unless given
      # @param force [Boolean] the incumbent's; what is late is thrown away in any case
      # @return [void]
      # @raise [ProducerTransactionalCloseAttemptError] inside a transaction of its own
      def close(timeout_ms: nil, force: false)
        timeout_ms ||= config&.max_wait_timeout || 0
        refuse_inside_transaction
        return outside_of_trap(timeout_ms) if in_trap?

        deadline = Deadline.in(timeout_ms)
        begin_close ? end_with(deadline) : await_other(deadline)
        nil
      end

      # The incumbent's name for a {#close} that doesn't wait for ever; ours never does.
      #
      # @param timeout_ms [Integer]
      # @return [void]
      def close!(timeout_ms: nil)
        close(timeout_ms: timeout_ms)
      end

      # @return [Boolean]
      def closed?
        status.closed?
      end

      private

      def refuse_inside_transaction
        return unless transaction?

        raise ProducerTransactionalCloseAttemptError, "the producer #{id} can't be closed inside of its own transaction: close " \
          "it behind the block"
      end

      # @return [Boolean] whether this call is the one that closes
      def begin_close
        @lock.synchronize do
          return false if @closer || status.closed?

          @closer = Thread.current
          true
        end
      end

      # Calls are taken until the transaction that runs has ended.
      def end_with(deadline)
        @transactions&.shut(deadline)
      ensure
        @lock.synchronize { @status = Status::CLOSING }
        end_client(deadline)
      end

      def end_client(deadline)
        return unless monitor

        instrument("producer.closing")
        instrument("producer.closed") { close_client(deadline) }
      ensure
        finish
      end

      def finish
        @lock.synchronize do
          @status = Status::CLOSED
          @ended.broadcast
        end
      end

      def close_client(deadline)
        return @client&.close(0) if inherited?

        leftovers = Leftovers.new(config)
        leftovers.count(@client) if @sending
        @sending&.end_by(deadline)
        flush_last
        late = @sending ? end_handle(deadline) : 0
        leftovers.tell((@client if @sending), @buffer.take.to_a, late: late)
      end

      # What the parent's producer has is the parent's to send.
      def inherited?
        @sending && @client.respond_to?(:pid) && @client.pid != ::Process.pid
      end

      # @return [Integer] messages that are still under way
      def end_handle(deadline)
        @idle_watch&.stop
        pending = @client.close(deadline.remaining_ms)
        @reporter.join([deadline.remaining_ms, LISTENERS_MS].max)
        (@client.state == :closed) ? 0 : pending
      end

      # Its errors were told, what it left in the buffer will be; closing goes on.
      def flush_last
        flush_async
      rescue
        nil
      end

      # The closing thread waits for the reporter, so a listener can't wait for the closing thread.
      def await_other(deadline)
        return if @closer.equal?(Thread.current) || Thread.current.equal?(@reporter&.thread)

        @lock.synchronize do
          @ended.wait(@lock, deadline.remaining_ms / 1_000.0) until status.closed? || deadline.expired?
        end
      end

      # In a signal handler locks can't be taken; in a thread of its own they can.
      def in_trap?
        @lock.synchronize { false }
      rescue ThreadError
        !@lock.owned?
      end

      # The interrupted thread may hold a lock that closing needs: after a while the handler returns, so that it can go on.
      def outside_of_trap(timeout_ms)
        Thread.new { close(timeout_ms: timeout_ms) }.join((timeout_ms + TRAP_MARGIN_MS) / 1_000.0)
        nil
      end
    end
  end
end
