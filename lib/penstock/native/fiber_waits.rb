# frozen_string_literal: true

require_relative "fiber_group"

module Penstock
  module Native
    # Lets fibers wait for deliveries of one client without blocking their threads: one {FiberGroup} for each scheduler that
    # has waiting fibers.
    #
    # Owns the groups, each of which has a descriptor. A group without waiting fibers is kept for the next scheduler that needs
    # one, and closed with the client; so is a group whose thread has ended without its fibers.
    #
    # Any thread, without a lock: a scheduler's group belongs to its thread, and shared state is changed by single, atomic
    # operations.
    class FiberWaits
      def initialize
        @groups = {}.compare_by_identity
        @idle = []
        @closed = false
      end

      # @param delivery [Delivery] of this client
      # @param timeout_ms [Integer, nil] nil waits without a limit
      # @param urgent [Boolean] whether to send queued messages at once meanwhile
      # @return [Boolean] whether its outcome is known
      # @raise [ForkedHandleError] in a child of the process that produced it
      def wait(delivery, timeout_ms, urgent)
        scheduler = Fiber.current_scheduler
        group = @groups[scheduler] ||= lend(scheduler)
        group.wait(delivery, timeout_ms, urgent)
      ensure
        take_back(scheduler, group) if group
      end

      # Called when the client is closed. A group in which a fiber still waits is closed when that wait ends.
      #
      # @return [void]
      def close
        @closed = true
        close_idle
        close_abandoned
      end

      private

      def lend(scheduler)
        (@idle.pop || another).lend(scheduler)
      end

      def another
        close_abandoned
        FiberGroup.new
      end

      # Either this thread sees `@closed`, or the closing thread sees the idle group.
      def take_back(scheduler, group)
        return unless group.empty? && @groups.delete(scheduler)

        @idle.push(group)
        close_idle if @closed
      end

      # Iterates over a copy: other threads may add groups meanwhile.
      def close_abandoned
        @groups.to_a.each { |scheduler, group| @groups.delete(scheduler)&.close if group.abandoned? }
      end

      def close_idle
        while (group = @idle.pop)
          group.close
        end
      end
    end
  end
end
