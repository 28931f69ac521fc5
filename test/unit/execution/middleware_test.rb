# frozen_string_literal: true

require "test_helper"
require "penstock/execution/middleware"
require "penstock/execution/middleware_stack"

module Penstock
  class ExecutionMiddlewareTest < TestCase
    Layer = Struct.new(:name, :level, keyword_init: true) do
      def call(_consumer, _action)
        yield
      end
    end
    Named = Class.new(Layer)
    Other = Class.new(Layer)

    def list(&block) = Execution::Middleware.new.change(&block)
    def names(list) = list.to_a.map(&:name)

    test "layers are called in the order in which they were added, outermost first" do
      found = list do
        use Layer, name: :a
        use Named, name: :b
        prepend Other, name: :c
      end

      assert_equal %i[c a b], names(found)
    end

    test "layers are inserted before or after others, by class or by object" do
      b = Other.new(name: :b)
      found = list { |all| all.use(Named, name: :a).use(b) }
      found.insert_before(b, Layer, name: :before).insert_after(Named, Layer, name: :after)

      assert_equal %i[a after before b], names(found)
      assert_equal %i[a after before], names(found.delete(Other))
    end

    test "naming a missing layer raises an error that lists the existing ones" do
      error = assert_raises(ArgumentError) { list { [use(Named), insert_after(Other, Layer)] } }

      assert_match(/Other.* is not in the middleware: it has .*Named/, error.message)
      assert_includes assert_raises(ArgumentError) { list { delete Named } }.message, "no layers"
    end

    test "an object that can't be called is refused as a layer" do
      assert_includes assert_raises(ArgumentError) { list { use Object } }.message, "it needs a method call"
    end

    test "a block is a layer too" do
      seen = []
      found = list { use ->(_consumer, action, &inner) { inner.call.tap { seen << action } } }
      consumer = Class.new { def wrap(_action) = yield }.new
      Execution::MiddlewareStack.new(found.to_a).call(consumer, :consume) { seen << :inside }

      assert_equal %i[inside consume], seen
    end

    test "changing the list later doesn't affect stacks built from it" do
      found = list { use Named, name: :a }
      middleware = found.to_a
      found.use(Other, name: :b)

      assert_equal 1, middleware.size
    end
  end
end
