# frozen_string_literal: true

require_relative "middleware_stack"

module Penstock
  module Execution
    # The list of layers around user code that `App.middleware { … }` builds, outermost first. A layer is an object with
    # `call(consumer, action) { }` that yields once; a class is instantiated here, with the arguments that follow it.
    #
    #     middleware do
    #       use Tracing, sampling: 0.1
    #       insert_before Tracing, Tenants
    #     end
    #
    # Written at boot by one thread, read when the application starts.
    class Middleware
      def initialize
        @layers = []
        @wrappers = []
      end

      # Adds a layer inside all others.
      # @param layer [#call, Class]
      # @return [self]
      def use(layer, *arguments, **options)
        @layers << built(layer, *arguments, **options)
        self
      end

      # Adds a layer around all others.
      # @return [self]
      def prepend(layer, *arguments, **options)
        @layers.unshift(built(layer, *arguments, **options))
        self
      end

      # Adds a layer around another one.
      # @param other [Class, Object] a layer, or its class
      # @return [self]
      # @raise [ArgumentError] there is no such layer
      def insert_before(other, layer, *arguments, **options)
        @layers.insert(place_of(other), built(layer, *arguments, **options))
        self
      end

      # Adds a layer inside another one.
      # @param other [Class, Object] a layer, or its class
      # @return [self]
      # @raise [ArgumentError] there is no such layer
      def insert_after(other, layer, *arguments, **options)
        @layers.insert(place_of(other) + 1, built(layer, *arguments, **options))
        self
      end

      # Removes a layer.
      # @param other [Class, Object] a layer, or its class
      # @return [self]
      # @raise [ArgumentError] there is no such layer
      def delete(other)
        @layers.delete_at(place_of(other))
        self
      end

      # Adds a wrapper around everything of the application's that runs on a worker: construction and `initialized` of
      # consumers, each call of `consume`, hooks, filters, partitioners, strategies, back-offs and changes of dead letters, on
      # threads, in fibers and in child processes. For what borrows something for the time of a call, such as database
      # connections or the code that a reloader keeps. A later wrapper runs inside the earlier ones, middleware inside all.
      #
      # `call(topic, action) { }` must yield once. Errors of the code pass through it and count even if it rescues them. An error
      # of the wrapper itself fails the unit. Interrupts reach the code, but not the wrapper.
      # @param wrapper [#call, nil] nil: the block
      # @return [self]
      # @raise [ArgumentError] it has no `call`
      def around_user_code(wrapper = nil, &block)
        wrapper ||= block
        unless wrapper.respond_to?(:call)
          raise ArgumentError, "#{wrapper.inspect[0, 80]} can't wrap user code: it needs a method call(topic, action) that " \
            "yields to its block"
        end
        @wrappers << wrapper
        self
      end

      # Evaluates a block in which the methods above need no receiver; one that takes an argument gets the list.
      # @return [self]
      def change(&block)
        block.arity.zero? ? instance_exec(&block) : yield(self)
        self
      end

      # @return [Array<#call>] outermost first
      def to_a = @layers.dup

      # @return [Array<#call>] see {#around_user_code}; outermost first
      def wrappers = @wrappers.dup

      # @return [MiddlewareStack]
      def to_stack = MiddlewareStack.new(@layers, around_user_code: @wrappers)

      # @return [String]
      def inspect = "#<#{self.class} #{names}>"

      private

      def built(layer, *arguments, **options)
        layer = layer.new(*arguments, **options) if layer.is_a?(Class)
        return layer if layer.respond_to?(:call)
        raise ArgumentError, "#{layer.inspect[0, 80]} can't be middleware: it needs a method call(consumer, action) that " \
          "yields to its block"
      end

      def place_of(other)
        @layers.index { |layer| layer.equal?(other) || layer.instance_of?(other.is_a?(Class) ? other : NilClass) } ||
          raise(ArgumentError, "#{other.inspect[0, 80]} is not in the middleware: it has #{names}")
      end

      def names
        return "no layers" if @layers.empty?
        @layers.map { |layer| layer.is_a?(Proc) ? "a block" : layer.class.name || "a layer without a name" }.join(", ")
      end
    end
  end
end
