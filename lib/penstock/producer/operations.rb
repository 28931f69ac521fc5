# frozen_string_literal: true

module Penstock
  class Producer
    # How many calls of a producer are under way that hand over more than one message, or wait. A client may be put away only
    # while there are none: else a call would be done in halves.
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
