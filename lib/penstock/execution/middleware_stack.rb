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
