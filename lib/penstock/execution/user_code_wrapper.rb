# frozen_string_literal: true

require_relative "../errors"

module Penstock
  module Execution
    # Calls the application's wrapper around user code on a worker ({Middleware#around_user_code}), and keeps what the code did
    # apart from what the wrapper did: an error of the code counts even if the wrapper rescues or replaces it, an error of the
    # wrapper fails the unit, and a wrapper that doesn't yield exactly once is an error.
    #
    # Called on workers with exceptions from outside masked; stateless.
    class UserCodeWrapper
      # @param wrapper [#call] `call(topic, action) { }`
      def initialize(wrapper)
        @wrapper = wrapper
      end

      # @param topic [Routing::Topic]
      # @param action [Symbol] `:consume`, `:eofed`, `:tick`, `:revoked`, `:shutdown`, `:prepare` (filters and partitioner),
      #   `:failure` (strategy, back-off and dead letter of a failed record) or `:quarantine` (dead letter of a record that isn't
      #   run)
      # @yieldreturn [Object]
      # @return [Object] what the block returned
      # @raise [Exception] the block's error, otherwise the wrapper's
      def call(topic, action)
        calls = 0
        value = error = nil
        @wrapper.call(topic, action) do
          misused("yielded twice: user code runs once") if (calls += 1) > 1
          value = yield
        rescue Exception => raised # rubocop:disable Lint/RescueException -- passed on as it is
          raise error ||= raised
        end
        raise error if error
        if calls.zero?
          misused("returned without yielding: user code was not called. Filter records in the route instead, or pause")
        end
        value
      rescue Exception => raised # rubocop:disable Lint/RescueException -- the runner makes it the unit's outcome
        raise error || raised
      end

      private

      def misused(what)
        raise UnsupportedCaseError, "the wrapper around user code, #{@wrapper.is_a?(Proc) ? "a block" : @wrapper.class}, #{what}"
      end
    end
  end
end
