# frozen_string_literal: true

require_relative "fiber_group"

module Penstock
  module Native
    # Fibers that wait for deliveries of one client while their threads go on: a group for each scheduler in which some do.
    #
    # Owns the groups, each of which has a descriptor. One in which nobody waits any more is kept for whatever scheduler comes
    # next, and closed with the client, as is one whose thread has ended without its fibers.
    #
    # Any thread, without a lock: a scheduler's group is its thread's, and what all share is changed in one step of Ruby's.
    class FiberWaits
      def initialize
        @groups = {}.compare_by_identity
        @idle = []
        @closed = false
      end

      # @param delivery [Delivery] the client's
      # @param timeout_ms [Integer, nil] nil waits for ever
      # @param urgent [Boolean] whether what is queued is to leave at once meanwhile
      # @return [Boolean] whether its fate is known
      # @raise [ForkedHandleError] in a child of the process that produced it
      def wait(delivery, timeout_ms, urgent)
        scheduler = Fiber.current_scheduler
        group = @groups[scheduler] ||= lend(scheduler)
        group.wait(delivery, timeout_ms, urgent)
      ensure
        take_back(scheduler, group) if group
      end

      # The client is closed: whoever still waits closes what he waits with.
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

      # Either we see that it was closed, or who closes sees what is idle.
      def take_back(scheduler, group)
        return unless group.empty? && @groups.delete(scheduler)

        @idle.push(group)
        close_idle if @closed
      end

      # A copy is looked at: others may come meanwhile.
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
