# frozen_string_literal: true

require_relative "../native"

module Penstock
  module Native
    # The outcome of one message, see ext/penstock_kafka/rb_delivery.c. Created by {Producer} only. Any thread may wait for it.
    #
    # In C: `await(timeout_ms)`, `done?`, `unknown?`, `number` (0 when delivered), `error`, `partition`, `offset`,
    # `timestamp` (ms), `persisted` (:not, :possibly, :persisted), `topic`, `label`. Everything but `topic` and `label` is
    # nil while it is pending.
    class Delivery
      # @param timeout_ms [Integer, nil] nil waits without a limit
      # @return [Boolean] whether the outcome is known
      # @raise [ForkedHandleError] in a child of the process that produced it
      def wait(timeout_ms = nil)
        await(timeout_ms)
      end

      # Waits in a fiber of a scheduler, without blocking its thread.
      #
      # @param timeout_ms [Integer, nil] nil waits without a limit
      # @param urgent [Boolean] whether to send queued messages at once meanwhile, without lingering
      # @return [Boolean] whether the outcome is known
      # @raise [ForkedHandleError] in a child of the process that produced it
      def wait_in_fiber(timeout_ms, urgent: false)
        done? || client.fiber_waits.wait(self, timeout_ms, urgent)
      end

      # Waits, and lets what is queued leave at once meanwhile, without lingering.
      #
      # @param timeout_ms [Integer]
      # @return [Boolean] whether the fate is known
      # @raise [ForkedHandleError] in a child of the process that produced it
      def wait_urgently(timeout_ms)
        client.sync_wait(self, timeout_ms)
      end

      # @return [String]
      def inspect
        place = done? ? "#{topic}/#{partition} at offset #{offset}" : "#{topic}, pending"
        "#<#{self.class} #{place}#{" #{error.code}" if error}>"
      end
    end
  end
end
