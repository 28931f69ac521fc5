# frozen_string_literal: true

module Penstock
  module Instrumentation
    # One listener of one event. Counts its failures; the count may be a little low when threads race for it, which
    # only makes a failure be told again.
    class Subscription
      def initialize(owner, callable)
        @owner = owner
        @callable = callable
        @failures = 0
      end

      def call(event)
        @callable.call(event)
      end

      def of?(listener)
        @owner.equal?(listener)
      end

      # @return [Integer] how often it has failed, this time included
      def failed
        @failures += 1
      end

      # @return [String] what it is and where it was written
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
