# frozen_string_literal: true

require "test_helper"
require "support/admission"
require "penstock/consumer/errors_tracker"
require "penstock/instrumentation/monitor"
require "penstock/lint"

module Penstock
  # Wrapped strategies, deserializers, listeners and executors.
  class LintOutcomesTest < TestCase
    include TestSupport::Admission

    def violation(&) = assert_raises(Lint::Violation, &).message

    def errors = Consumer::ErrorsTracker.new("orders", 0) << RuntimeError.new("no")

    test "a strategy that keeps its contract works as without its wrapper" do
      [:retry, :skip, [:dispatch, "dead"], [:dispatch, :dead]].each do |answer|
        assert_equal answer, Lint::Strategy.new(->(_errors, _attempt) { answer }).call(errors, 1)
      end
      assert_equal :dispatch, Lint::Strategy.new(->(_errors, _attempt) { :dispatch }, topic: "dead").call(errors, 1)
    end

    test "a strategy returns a valid result" do
      [:later, nil, [:retry, "dead"], [:dispatch, 7], [:dispatch, "a", "b"]].each do |answer|
        assert_match(/return :retry, :skip/, violation { Lint::Strategy.new(->(*) { answer }).call(errors, 1) })
      end
      assert_match(/dispatches to no topic/, violation { Lint::Strategy.new(->(*) { :dispatch }).call(errors, 1) })
      assert_match(/changed the errors/, violation { Lint::Strategy.new(->(seen, _) { seen.clear && :retry }).call(errors, 1) })
      assert_match(/has no call/, violation { Lint::Strategy.new(:retry) })
    end

    # Keeps state between calls.
    class Greedy
      def call(message)
        (@seen ||= []) << message.offset
        nil
      end
    end

    def one(payload) = records([{offset: 7, payload: payload}]).first

    test "a deserializer that keeps its contract works as without its wrapper" do
      watched = Lint::Deserializer.new(->(message) { message.raw_payload&.upcase })
      assert_equal ["A", nil], [watched.call(one("a")), watched.call(one(nil))]
    end

    test "a deserializer doesn't change the bytes, keeps no state, and handles a record without a payload" do
      assert_match(/changed the payload's bytes/, violation {
        Lint::Deserializer.new(->(given) { given.raw_payload.replace("b") }).call(one(+"a"))
      })
      assert_match(/keeps state between calls/, violation { Lint::Deserializer.new(Greedy.new).call(one("a")) })
      assert_match(/fails without a payload/, violation {
        Lint::Deserializer.new(->(given) { given.raw_payload.upcase }).call(one(nil))
      })
      assert_raises(ArgumentError) { Lint::Deserializer.new(->(_) { raise ArgumentError }).call(one("a")) }
    end

    # Returns what the test sets.
    class Heard
      attr_reader :events

      def initialize(&happens)
        @events = []
        @happens = happens
      end

      def on_app_running(event)
        @happens&.call(event)
        @events << event.id
      end
    end

    test "a listener that keeps its contract receives the same events as without its wrapper" do
      heard = Heard.new
      monitor = Instrumentation::Monitor.new
      monitor.subscribe(Lint::Listener.new(heard))
      monitor.instrument("app.running", {server_id: "a"})
      assert_equal ["app.running"], heard.events
    end

    test "a listener's methods are named after events, and take one argument" do
      wrong = Class.new do
        def on_app_runing(_event) = nil
        def on_app_stopped = nil
      end
      text = violation { Lint::Listener.new(wrong.new) }
      assert_match(/did you mean on_app_running\?/, text)
      assert_match(/takes 0 arguments in on_app_stopped/, text)
      assert_match(/has no method for any event/, violation { Lint::Listener.new(Object.new) })
    end

    test "a listener that changes a payload is reported as error.occurred" do
      monitor = Instrumentation::Monitor.new
      errors = []
      monitor.subscribe("error.occurred") { |event| errors << event[:error] }
      monitor.subscribe(Lint::Listener.new(Heard.new { |event| event.payload[:server_id] = "mine" }))
      monitor.instrument("app.running", {server_id: "a"})
      assert_match(/changed the payload/, errors.fetch(0).message)
    end

    # An executor that runs nothing.
    Executor = Struct.new(:running, :answers) do
      def queue = self
      %i[grow size close push withdraw waiting idle snapshot].each do |name|
        define_method(name) { |*| answers.fetch(name, true) }
      end
      def interrupt(_lanes) = answers.fetch(:interrupt, [])
    end
    Unit = Struct.new(:lane, :key) { def consume? = true }
    Lane = Struct.new(:topic_name, :partition)

    test "an executor has the methods that poll loops call, and returns the values they expect" do
      assert_match(/has no queue, grow, interrupt, running, size, close/, violation { Lint::Executor.new(Object.new) })
      watched = Lint::Executor.new(Executor.new([], {size: 2}))
      assert_equal [[], 2, true], [watched.running, watched.size, watched.close(1)]
      assert_match(/from size/, violation { Lint::Executor.new(Executor.new([], {size: nil})).size })
      assert_match(/true or false/, violation { Lint::Executor.new(Executor.new([], {close: nil})).close(1) })
    end

    test "an executor runs ordered units one after another, and interrupts only the given lanes" do
      lane = Lane.new("orders", 0)
      side_by_side = [[:a, Unit.new(lane, "k")], [:b, Unit.new(lane, "l")]]
      assert_equal side_by_side, Lint::Executor.new(Executor.new(side_by_side, {})).running
      twice = [[:a, Unit.new(lane, nil)], [:b, Unit.new(lane, nil)]]
      assert_match(%r{two units of orders/0 at once}, violation { Lint::Executor.new(Executor.new(twice, {})).running })
      stranger = Executor.new([], {interrupt: [Unit.new(Lane.new("clicks", 0), nil)]})
      assert_match(/other lanes/, violation { Lint::Executor.new(stranger).interrupt([lane]) })
    end
  end
end
