# frozen_string_literal: true

module Penstock
  class Producer
    # Calls that wait without knowing of fibers: where a scheduler runs, another thread makes them, so that other fibers go on.
    module Aside
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
      end
    end
  end
end
