# frozen_string_literal: true

require "support/executing"
require "support/rules"

module Penstock
  # The wrapper around user code, wherever it runs. Including modules define `executor(middleware, size)`.
  module WrapperContract
    extend TestSupport::Rules

    # A middleware layer that records its calls.
    Layer = Struct.new(:out) do
      def call(_consumer, action)
        out.syswrite("layer #{action}\n")
        yield
      end
    end

    # A wrapper that records its calls.
    Wrapper = Struct.new(:out) do
      def call(topic, action)
        out.syswrite("around #{topic.name} #{action}\n")
        yield
      ensure
        out.syswrite("after #{$!.inspect}\n")
      end
    end

    rule "the wrapper is around the construction of the consumer, its hooks, middleware and each call" do
      out = writer
      executing(around: Wrapper.new(out), layers: [Layer.new(out)]) do
        def initialized = log("initialized")
        def consume = log("consume")
        def eofed = log("eofed")
      end
      run_unit([0])
      run_unit([], action: :eofed)

      assert_equal ["around orders consume", "initialized", "layer consume", "consume", "after nil",
        "around orders eofed"], Array.new(6) { told }
    end

    rule "an error passes through the wrapper, and counts if the wrapper rescues it" do
      executing(around: Wrapper.new(writer)) do
        def consume = raise("no database")
      end
      first = run_unit([0, 1])
      assert_equal ["no database", 1], [first.error.message, first.blamed]
      assert_equal ["around orders consume", "after #<RuntimeError: no database>"], [told, told]
    end

    rule "an error of the wrapper fails the unit, and the worker runs the next one" do
      calls = 0
      around = lambda do |_topic, _action, &code|
        code.call
        raise "no connection" if (calls += 1) == 1
      end
      executing(size: 1, around: around) do
        def consume = messages.map(&:offset)
      end

      failed = run_unit([0, 1])
      assert_equal ["no connection", false], [failed.error&.message, failed.located?], "no record has failed"
      assert_nil run_unit([2]).error
      assert_equal ["consumer.consume.error"], drained(@errors).map { |each| each[:type] }
    end
  end
end
