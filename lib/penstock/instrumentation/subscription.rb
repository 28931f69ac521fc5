# frozen_string_literal: true

module Penstock
  module Instrumentation
    # A listener's subscription to one event. Counts its failures; the count may be slightly low when threads race for
    # it, which only causes a failure to be reported again.
    class Subscription
      def initialize(owner, callable)
        @owner = owner
        @callable = callable
        @failures = @slow = 0
      end

      def call(event)
        @callable.call(event)
      end

      def of?(listener)
        @owner.equal?(listener)
      end

      # @return [Integer] number of failures, this one included
      def failed
        @failures += 1
      end

      # @return [Integer] number of slow calls, this one included
      def slow
        @slow += 1
      end

      # @return [String] kind and place of definition
      def description
        file, line = @callable.source_location
        kind = if @owner.is_a?(Proc)
          "block"
        else
          "#{@owner.is_a?(Module) ? @owner : @owner.class}##{@callable.name}"
        end
        file ? "#{kind} (#{file}:#{line})" : kind
      end
    end
  end
end
