# frozen_string_literal: true

module Penstock
  class Producer
    # Runs calls that would block all fibers of a thread: with a fiber scheduler, another thread makes the call, so that other
    # fibers continue. Without a scheduler the calling thread makes it.
    module OffThread
      class << self
        # @yieldreturn [Object]
        # @return [Object] what the block returns
        def call(&block)
          return yield unless Fiber.current_scheduler

          thread = Thread.new(&block)
          thread.report_on_exception = false
          begin
            thread.value
          ensure
            thread.kill.join
          end
        end

        # For signal handlers: another thread can take locks. The interrupted thread may hold one that the block needs, so the
        # wait is limited.
        # @param limit_ms [Integer]
        # @return [nil]
        def limited(limit_ms, &)
          Thread.new(&).join(limit_ms / 1_000.0)
          nil
        end
      end
    end
  end
end
