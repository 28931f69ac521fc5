# frozen_string_literal: true

require_relative "../../../on_demand"
Penstock.load_constant :Messages

module Penstock
  module Runtime
    # Passes hooks (`revoked`, `shutdown`) to the hook worker: they run before all queued units, never at the same time as a
    # unit of the same consumer. One per poll loop, outlives its connections; runs on the loop's thread.
    class Hooks
      # @param queue [Execution::RunQueue]
      # @param pool [Execution::Threads::Pool]
      def initialize(queue, pool)
        @queue = queue
        @pool = pool
        @late = {}
      end

      # Runs the hook where a consumer exists; the lane isn't idle until the hook has ended.
      # @param action [Symbol] :revoked or :shutdown
      # @param lanes [Array<Processing::Lane>]
      def run(action, lanes)
        lanes.each { |lane| push(action, lane) if lane.idle? && lane.assignment.slot.pool.used.any? }
      end

      # A lane was lost: its hook runs now, or after the unit that still runs.
      def run_when_idle(action, lane)
        lane.idle? ? run(action, [lane]) : @late[lane] = action
      end

      # A unit has ended whose lane is no longer ours.
      def ended(lane)
        return unless lane.idle? && (action = @late.delete(lane))
        run(action, [lane])
      end

      # @return [Messages] no records, for hooks
      def self.no_messages(lane) = Messages.new(Messages::MemoryBatch.new(lane.topic_name, lane.partition, []))

      private

      def push(action, lane)
        needs_worker = @queue.push_hook(lane.assignment.slot, lane.action_unit(action, Hooks.no_messages(lane)))
        @pool.start_hook_worker if needs_worker
      end
    end
  end
end
