# frozen_string_literal: true

require_relative "user_code_wrapper"

module Penstock
  module Execution
    # Wraps every call of user code in layers: middleware in the order it was added, outermost first, then the consumer's own
    # `wrap`. Each layer is an object with `call(consumer, action) { }` and must yield once.
    #
    # Built at boot, then only read; called on worker threads.
    class MiddlewareStack
      # @return [UserCodeWrapper, nil] around everything of the user's that runs on a worker, not only calls of consumers
      attr_reader :wrapper

      # @param layers [Array<#call>]
      # @param around_user_code [#call, nil]
      def initialize(layers = [], around_user_code: nil)
        @layers = layers.dup.freeze
        @wrapper = UserCodeWrapper.new(around_user_code) if around_user_code
      end

      # @param consumer [BaseConsumer]
      # @param action [Symbol]
      # @yield user code
      def call(consumer, action, &core)
        return consumer.wrap(action, &core) if @layers.empty?
        layer(0, consumer, action, core)
      end

      private

      def layer(index, consumer, action, core)
        return consumer.wrap(action, &core) if index == @layers.size
        @layers[index].call(consumer, action) { layer(index + 1, consumer, action, core) }
      end
    end
  end
end
