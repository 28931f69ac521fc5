# frozen_string_literal: true

require_relative "../deadline"
require_relative "../errors"

module Penstock
  class Producer
    # Who has the transaction: one fiber at a time, the others wait in turn. librdkafka has one transaction a client, and
    # what a second thread produces meanwhile would be part of it.
    #
    # A fiber that has it may take it again. In a forked child nobody has it: the parent's threads don't exist there. It
    # ends with {#shut}, after which only who shut it gets it.
    class TransactionLock
      LOOK_AGAIN_MS = 1_000
      CLOSING = "the producer is closing: make a new one"
      private_constant :CLOSING

      def initialize
        @mutex = Mutex.new
        @freed = ConditionVariable.new
        @owner = nil
        @shut = false
        @pid = ::Process.pid
      end

      # Takes no lock: may be asked for every message, and in a signal's handler.
      #
      # @return [Boolean] whether this fiber has it
      def mine?
        @owner.equal?(Fiber.current)
      end

      # @return [Boolean]
      def shut?
        @shut
      end

      # @return [Boolean] whether nobody has it
      def free?
        @mutex.synchronize { !taken? }
      end

      # @yield while this fiber has it
      # @return [Object] what the block returns
      # @raise [ProducerClosedError] it is shut
      def hold
        return yield if mine?

        begin
          take
          yield
        ensure
          give_back if mine?
        end
      end

      # As {#hold}, without waiting.
      #
      # @yield while this fiber has it
      # @return [Boolean] false when another has it
      # @raise [ProducerClosedError] it is shut
      def try
        return false unless @mutex.synchronize { take_free }

        begin
          yield
        ensure
          give_back
        end
        true
      end

      # Lets nobody in any more and waits until the one inside has left. This fiber has it from then on.
      #
      # @param deadline [Deadline]
      # @return [Boolean, nil] false when the time was over first, nil when another has shut it
      def shut(deadline)
        @mutex.synchronize do
          return if @shut

          @shut = true
          @freed.broadcast
          wait(deadline) while taken? && !deadline.expired?
          @owner = Fiber.current unless taken?
          mine?
        end
      end

      private

      def take
        @mutex.synchronize do
          wait(Deadline.never) while taken? && !@shut
          raise ProducerClosedError, CLOSING if @shut

          @owner = Fiber.current
        end
      end

      # Must be called with the mutex held.
      def take_free
        raise ProducerClosedError, CLOSING if @shut

        return false if taken?

        @owner = Fiber.current
        true
      end

      # First of all it is free, whatever interrupts what follows: who waits looks again by himself.
      def give_back
        @owner = nil
        @mutex.synchronize { @shut ? @freed.broadcast : @freed.signal }
      end

      # Must be called with the mutex held.
      def wait(deadline)
        @freed.wait(@mutex, deadline.wait_ms(LOOK_AGAIN_MS) / 1_000.0)
      end

      # Must be called with the mutex held.
      def taken?
        @owner = nil unless @pid == ::Process.pid
        @pid = ::Process.pid
        !@owner.nil?
      end
    end
  end
end
