# frozen_string_literal: true

module Penstock
  module Execution
    # Wraps every call of user code in layers: middleware in the order it was added, outermost first, then the consumer's own
    # `wrap`. Each layer is an object with `call(consumer, action) { }` and must yield once.
    #
    # Built at boot, then only read; called on worker threads.
    class MiddlewareStack
      # @param layers [Array<#call>]
      def initialize(layers = [])
        @layers = layers.dup.freeze
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
