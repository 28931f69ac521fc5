# frozen_string_literal: true

require_relative "../errors"
require_relative "../transaction_scope"
require_relative "user_code_wrapper"

module Penstock
  module Execution
    # Wraps every call of user code in layers: middleware in the order it was added, outermost first, then the consumer's own
    # `wrap`. Each layer is an object with `call(consumer, action) { }` and must yield once.
    #
    # Middleware sees an error of the wrapped code, `wrap` doesn't: its `yield` returns nil, and the error is raised after `wrap`
    # has ended. So a `rescue` in `wrap` can't make a failed call count as done.
    #
    # Built at boot, then only read; called on worker threads.
    class MiddlewareStack
      # @return [UserCodeWrapper, nil] around everything of the user's that runs on a worker, not only calls of consumers
      attr_reader :wrapper

      # @param layers [Array<#call>]
      # @param around_user_code [Array<#call>] outermost first
      def initialize(layers = [], around_user_code: [])
        @layers = layers.dup.freeze
        wrappers = around_user_code.map { |wrapper| UserCodeWrapper.new(wrapper) }
        @wrapper = wrappers.reduce { |outer, inner| Nested.new(outer, inner) }
      end

      # Two wrappers, one inside the other.
      Nested = Struct.new(:outer, :inner) do
        def call(topic, action, &code) = outer.call(topic, action) { inner.call(topic, action, &code) }
      end
      private_constant :Nested

      # @param consumer [BaseConsumer]
      # @param action [Symbol]
      # @yield user code
      def call(consumer, action, &core)
        return wrap(consumer, action, core) if @layers.empty?
        layer(0, consumer, action, core)
      end

      private

      def layer(index, consumer, action, core)
        return wrap(consumer, action, core) if index == @layers.size
        @layers[index].call(consumer, action) { layer(index + 1, consumer, action, core) }
      end

      # An error of `wrap` itself is raised unless the code has failed before it: that error is more often the cause. After an
      # error the code isn't run again, however often `wrap` yields.
      def wrap(consumer, action, core)
        error = through = nil
        begin
          value = consumer.wrap(action) do
            core.call unless error
          rescue Exception => raised # rubocop:disable Lint/RescueException -- every error of user code counts after `wrap`
            raise if passes?(raised)
            error = raised
            through = TransactionScope.active? and raise
          end
        rescue Exception => raised # rubocop:disable Lint/RescueException -- as above
          raise if error.nil? || through || passes?(raised)
        end
        error ? raise(error) : value # outside of the rescue, where the error would get the other one as its cause
      end

      # Interrupts concern the whole call, also what `wrap` does, as does the exception of a `Timeout.timeout` in `wrap`, which
      # becomes an error there. AbortTransaction ends a transaction that `wrap` has begun, and nothing failed. (Any other error
      # must abort it too, so it is raised in `wrap` and counts as well.)
      def passes?(error)
        case error
        when Interrupted, TimeLimitExceeded then true
        when AbortTransaction then TransactionScope.active?
        else defined?(::Timeout::ExitException) && error.is_a?(::Timeout::ExitException)
        end
      end
    end
  end
end
