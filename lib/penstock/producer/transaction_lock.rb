# frozen_string_literal: true

require_relative "../clock"
require_relative "../deadline"
require_relative "../errors"
require_relative "../instrumentation/log/backtrace"
require_relative "../transaction_scope"

module Penstock
  class Producer
    # Gives the transaction to one fiber at a time; the others wait for their turn. librdkafka has one transaction per client,
    # and messages that a second thread produces meanwhile would become part of it.
    #
    # A fiber that has the lock may take it again. A fiber that would block the owner's thread gets an error instead of waiting.
    # Whether another thread blocks the owner's can't be known (its block may wait for that thread's end), so a long wait is
    # reported, and one for a transaction that has lasted longer than any can ends with an error.
    # In a forked child no fiber has it, because the parent's threads don't exist there. It ends with {#shut}; from then on only
    # the fiber that shut it has it.
    class TransactionLock
      LOOK_AGAIN_MS = 1_000
      # Time after which a wait for the same transaction is reported.
      LONG_MS = 10_000
      CLOSING = "the producer is closing: create a new one"
      UNREACHABLE = "another fiber of this thread is in a transaction of this producer, and can't end it while this fiber " \
        "waits for it. Call the producer in the fiber that runs the transaction's block (Enumerator#next and Fiber.new run " \
        "their blocks in a fiber of their own), or use a Fiber scheduler"
      private_constant :CLOSING, :LONG_MS, :UNREACHABLE

      # @param limit_ms [Integer, nil] age of a transaction from which on nobody waits for its end any longer
      # @param look_again_ms [Integer] longest time between two looks at the transaction that is waited for
      # @yieldparam text [String] a report of a long wait; yielded once for each place that a transaction waits at
      def initialize(limit_ms: nil, clock: Clock::SYSTEM, look_again_ms: LOOK_AGAIN_MS, &report)
        @limit_ms = limit_ms
        @clock = clock
        @look_again_ms = look_again_ms
        @report = report
        @reported = {}
        @mutex = Mutex.new
        @freed = ConditionVariable.new
        @owner = @thread = nil
        @shut = false
        @pid = ::Process.pid
      end

      # Takes no mutex, since it may be called for every message, and in a signal handler.
      #
      # @return [Boolean] whether the calling fiber has it
      def mine?
        @owner.equal?(Fiber.current)
      end

      # @return [Boolean]
      def shut?
        @shut
      end

      # @return [Boolean] whether no fiber has it
      def free?
        synchronize { !taken? }
      end

      # @yield while this fiber has it
      # @return [Object] what the block returns
      # @raise [ProducerClosedError] it was shut
      # @raise [TransactionRequiredError] another fiber of this thread has it, and can't run while this one waits; or another
      #   thread has had it for longer than `limit_ms`
      def hold
        return yield if mine?

        begin
          take
          TransactionScope.enter { yield }
        ensure
          give_back if mine?
        end
      end

      # Like {#hold}, without waiting.
      #
      # @yield while this fiber has it
      # @return [Boolean] false if another fiber has it
      # @raise [ProducerClosedError] it was shut
      def try
        return false unless synchronize { take_free }

        begin
          yield
        ensure
          give_back
        end
        true
      end

      # Admits no other fiber and waits until the one that has it has left. From then on this fiber has it.
      #
      # @param deadline [Deadline]
      # @return [Boolean, nil] false if the time limit was reached first, nil if another fiber has shut it
      def shut(deadline)
        synchronize do
          return if @shut

          @shut = true
          @freed.broadcast
          wait(deadline) while taken? && !deadline.expired?
          own unless taken?
          mine?
        end
      end

      private

      def take
        begun_ms = @clock.monotonic_ms
        look_after(begun_ms) until synchronize { own_or_wait }
      end

      # Must be called with the mutex held.
      #
      # @return [Boolean] false after a wait
      def own_or_wait
        raise ProducerClosedError, CLOSING if @shut
        return own unless taken?
        raise TransactionRequiredError, UNREACHABLE if blocks_owner?

        wait(Deadline.never)
        false
      end

      # Without the mutex, which the owner needs to leave. It may read the values of a later owner: then the times are short.
      def look_after(begun_ms)
        owner, since_ms = @thread, @since_ms
        now_ms = @clock.monotonic_ms
        return if owner.nil? || @owner.nil? || now_ms - [begun_ms, since_ms].max < LONG_MS

        place = place_of(owner)
        raise TransactionRequiredError, too_long(now_ms - since_ms, place) if @limit_ms && now_ms - since_ms >= @limit_ms
        return if @reported[place]

        @reported[place] = true
        @report&.call("a thread has waited #{(now_ms - begun_ms) / 1_000} s for the transaction of another thread, which is " \
          "at #{place}. If the transaction's block waits for this thread, neither can continue: produce in the block's thread")
      end

      # @return [String] where the owner is now
      def place_of(owner)
        Instrumentation::Log::Backtrace.cut(owner.backtrace || []).first || "its end"
      end

      def too_long(held_ms, place)
        "another thread has been in a transaction of this producer for #{held_ms / 1_000} s, longer than " \
          "transaction.timeout.ms and max_wait_timeout together, and is at #{place}. If its block waits for this thread, " \
          "produce in the block's thread, or end the block first"
      end

      # Must be called with the mutex held.
      def take_free
        raise ProducerClosedError, CLOSING if @shut

        return false if taken?

        own
        true
      end

      # Must be called with the mutex held.
      def own
        @thread = Thread.current
        @since_ms = @clock.monotonic_ms
        @owner = Fiber.current
        true
      end

      # Must be called with the mutex held. With a scheduler the calling fiber doesn't block its thread, unless it was created as
      # a blocking one.
      #
      # @return [Boolean] whether the owner can't continue while the calling fiber waits
      def blocks_owner? = @thread.equal?(Thread.current) && Fiber.current_scheduler.nil?

      # Frees it first, so that an interrupt of the rest does no harm: waiting fibers check again after a second.
      def give_back
        @owner = nil
        @mutex.synchronize { @shut ? @freed.broadcast : @freed.signal }
      end

      # Must be called with the mutex held.
      def wait(deadline)
        @freed.wait(@mutex, deadline.wait_ms(@look_again_ms) / 1_000.0)
      end

      # Must be called with the mutex held.
      def taken? = !@owner.nil?

      # In a forked child, clears the parent's owner.
      def synchronize
        @mutex.synchronize do
          @owner = nil unless @pid == ::Process.pid
          @pid = ::Process.pid
          yield
        end
      end
    end
  end
end
