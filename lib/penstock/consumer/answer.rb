# frozen_string_literal: true

require_relative "../clock"

module Penstock
  class Consumer
    # Passes one value from one thread to another: the first answer counts. The thread that waits creates it; the thread that
    # answers never waits.
    class Answer
      def initialize
        @lock = Mutex.new
        @given = ConditionVariable.new
        @value = nil
      end

      # @param value [Object] anything but nil
      def give(value)
        @lock.synchronize do
          @value = value if @value.nil?
          @given.broadcast
        end
      end

      # @return [Object, nil] nil after the timeout
      def wait(timeout_s)
        ends = now + timeout_s
        @lock.synchronize do
          while @value.nil? && (left_s = ends - now).positive?
            @given.wait(@lock, left_s)
          end
          @value
        end
      end

      private

      def now = Clock.seconds
    end
  end
end
