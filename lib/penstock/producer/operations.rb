# frozen_string_literal: true

module Penstock
  class Producer
    # Counts calls of a producer in progress that pass messages to the client in several steps, or wait. An idle client is
    # disconnected only while there are none; otherwise a disconnect could come between two steps of a call.
    class Operations
      def initialize
        @lock = Mutex.new
        @count = 0
      end

      # @yieldreturn [Object]
      # @return [Object] what the block returns
      def run
        change(1)
        yield
      ensure
        change(-1)
      end

      # @return [Boolean]
      def none?
        @count.zero?
      end

      private

      def change(by)
        @lock.synchronize { @count += by }
      end
    end
  end
end
