# frozen_string_literal: true

module Penstock
  module TestSupport
    # The smallest scheduler that can show that a fiber gives way: it only ever unblocks.
    class SmallScheduler
      def initialize
        @ready = Queue.new
        # Nobody else holds a fiber that waits: it would be collected.
        @blocked = []
      end

      def run
        resume(@ready.pop) while @blocked.any? || !@ready.empty?
      end
      alias_method :close, :run

      def block(_blocker, _timeout = nil)
        @blocked << Fiber.current
        Fiber.yield
        true
      end

      def unblock(_blocker, fiber)
        @blocked.delete(fiber)
        @ready << fiber
      end

      def fiber(&block)
        Fiber.new(blocking: false, &block).tap(&:resume)
      end

      # Time never passes here.
      def kernel_sleep(*)
        block(nil)
      end

      def io_wait(*)
        raise NotImplementedError
      end

      private

      # What it waited for may be told twice.
      def resume(fiber)
        fiber.resume if fiber.alive?
      end
    end
  end
end
