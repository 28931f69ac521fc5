# frozen_string_literal: true

require "test_helper"
require "penstock/consumer/flow"
require "penstock/execution/processes/child_lane"
require "penstock/execution/processes/failure"
require "penstock/execution/processes/flows"
require "penstock/execution/processes/inbox"
require "penstock/execution/processes/batch_sizer"
require "penstock/execution/processes/shared_status"
require "penstock/execution/processes/recorder"
require "penstock/instrumentation/monitor"

module Penstock
  class ExecutionProcessValuesTest < TestCase
    include Execution::Processes

    class Plain < StandardError
      def initialize(code, lock)
        @code = code
        @lock = lock
        super("plain #{code}")
      end
      attr_reader :code, :lock
    end

    class Rude < StandardError
      def message = raise("none of your business")
    end

    def carried(error) = Failure.load(Marshal.load(Marshal.dump(Failure.dump(error))))

    def raised
      yield
    rescue Exception => error # rubocop:disable Lint/RescueException -- what is carried may be any
      error
    end

    test "an error arrives as one of its class, with message, backtrace and those variables that can be dumped" do
      error = raised { raise Plain.new(7, Mutex.new) }
      copy = carried(error)

      assert_instance_of Plain, copy
      assert_equal ["plain 7", 7, nil, error.backtrace], [copy.message, copy.code, copy.lock, copy.backtrace]
      assert_includes copy.full_message(highlight: false), "plain 7"
    end

    test "causes are included, and a ring of them ends" do
      error = raised do
        raise KeyError, "inner"
      rescue KeyError
        raise ArgumentError, "outer"
      end
      copy = carried(error)
      assert_equal [ArgumentError, KeyError, "inner"], [copy.class, copy.cause.class, copy.cause.message]
      deep = (1..30).reduce(nil) { |cause, number| raised { raise RuntimeError, number.to_s, cause: cause } }
      depth = Enumerator.produce(carried(deep), &:cause).take_while { |one| one }.size
      assert_equal 9, depth
    end

    test "errors that are no StandardError, that have no name, or whose message raises, arrive too" do
      [SystemExit.new(3), NoMemoryError.new("full"), Interrupted.new, StopIteration.new("x")].each do |error|
        assert_instance_of error.class, carried(error)
      end
      nameless = carried(Class.new(StandardError).new("who"))
      assert_equal [RemoteError, "", "an error without a class name: who"],
        [nameless.class, nameless.remote_class, nameless.message]
      assert_equal "its message can't be read: RuntimeError", carried(Rude.new).message
    end

    test "an error of a class that isn't known here has the class's name" do
      unknown = Failure.load({class: "Billing::Declined", message: "no funds", backtrace: ["a.rb:1"], variables: {}, cause: nil})

      assert_equal [RemoteError, "Billing::Declined", "Billing::Declined: no funds", ["a.rb:1"]],
        [unknown.class, unknown.remote_class, unknown.message, unknown.backtrace]
      assert_instance_of RemoteError, Failure.load({class: "Kernel", message: "m", backtrace: nil, variables: {}, cause: nil})
    end

    test "requests about the partition are decoded as they were encoded" do
      [Consumer::Flow::Pause.new(5, nil), Consumer::Flow::Seek.new(:latest), Consumer::Flow::Seek.new(3, true, 500),
        Consumer::Flow::Resume.new, Consumer::Flow::Collapse.new(9), Consumer::Flow::MarkedOnly.new, nil].each do |flow|
        flow.nil? ? assert_nil(Flows.load(Flows.dump(flow))) : assert_equal(flow, Flows.load(Flows.dump(flow)))
      end
    end

    test "the shared status has the unit, the record and the marks for every reader, and is empty between units" do
      shared_status = SharedStatus.create
      reader = SharedStatus.new(shared_status.file)
      assert_nil reader.read
      shared_status.begin(3)
      assert_equal SharedStatus::State.new(3, nil, nil), reader.read
      shared_status.at(3, 17)
      shared_status.marked(3, 17)
      assert_equal SharedStatus::State.new(3, 17, 17), reader.read
      shared_status.clear
      assert_nil reader.read
      shared_status.file.pwrite("\xFF" * 8, 0)
      assert_nil reader.read
    ensure
      shared_status&.close
    end

    test "threads of an earlier unit don't write into the shared status of the one that runs" do
      shared_status = SharedStatus.create
      marks = [1, 2].map { |unit| ChildMarks.new(unit, shared_status, nil) }
      shared_status.begin(2)
      shared_status.at(1, 17)
      assert marks.first.mark(17)
      assert_equal SharedStatus::State.new(2, nil, nil), shared_status.read
      marks.last.mark(4)
      assert_equal SharedStatus::State.new(2, nil, 5), shared_status.read
    ensure
      shared_status&.close
    end

    test "a mark that reaches the shared status after a later one doesn't take that back" do
      shared_status = SharedStatus.create
      shared_status.begin(2)
      [5, 9, 7].each { |through| shared_status.marked(2, through) }
      assert_equal 9, shared_status.read.through
    ensure
      shared_status&.close
    end

    test "a child gets one long unit, short units for some ms, and few while other children are idle" do
      sizer = BatchSizer.new
      assert_equal [1, true, false], [sizer.depth, sizer.room?(0, 0), sizer.room?(1, 0)]
      60.times { sizer.record_time(0.1) }
      assert_operator sizer.depth, :>, 32
      assert_equal [true, false], [sizer.room?(10, 0), sizer.room?(10, 1)]
      assert sizer.refill?(1)
      refute sizer.refill?(sizer.depth)
      60.times { sizer.record_time(50) }
      assert_equal 1, sizer.depth
    end

    test "an interrupt hits the running unit and no other, and units that haven't begun can be called back" do
      inbox = Inbox.new
      order = Struct.new(:id)
      [1, 2, 3].each { |id| inbox << order.new(id) }
      assert_equal 1, inbox.begin.id
      refute(inbox.interrupt(2) { flunk })
      assert_equal [2], inbox.recall(2)
      assert_equal [3], inbox.recall
      error = assert_raises(Interrupted) { inbox.interrupt(1) { Interrupted.new } && Thread.pass }
      assert_instance_of Interrupted, error
      inbox.ended
      refute(inbox.interrupt(1) { flunk })
      inbox.close
      assert_nil inbox.begin
    end

    test "an interrupt that is too late is dropped at the unit's end" do
      inbox = Inbox.new
      inbox << Struct.new(:id).new(1)
      Thread.handle_interrupt(Exception => :never) do
        inbox.begin
        inbox.interrupt(1) { Interrupted.new }
        inbox.ended
        refute_predicate Thread, :pending_interrupt?
      end
    end

    test "the recorder keeps events with listeners as plain values, and counts the events beyond its limit" do
      monitor = Instrumentation::Monitor.new
      %w[consumer.initialized error.occurred].each { |name| monitor.subscribe(name) { flunk "emitted in the wrong process" } }
      waiting = 0
      recorder = Recorder.new(monitor) { waiting += 1 }
      assert_equal :result, recorder.instrument("consumer.initialized", {topic: "a", partition: 1, caller: self}) { :result }
      recorder.instrument("error.occurred", {type: "x", error: KeyError.new("k"), offsets: [1, {a: Mutex}]})
      recorder.instrument("consumer.eof", {topic: "a", partition: 1})
      events, dropped = recorder.take

      assert_equal %w[consumer.initialized error.occurred], events.map(&:first)
      assert_equal %i[partition time topic], events[0][1].keys.sort
      assert_equal ["KeyError", [1, {a: "Thread::Mutex"}]], [events[1][1][:error][:failure][:class], events[1][1][:offsets]]
      assert_equal 0, dropped
      1_005.times { recorder.instrument("error.occurred", {type: "x", error: nil}) }
      assert_equal [1_000, 5], recorder.take.then { |kept, more| [kept.size, more] }
      assert_equal 2, waiting
    end

    test "the recorder keeps which consumer an event is from" do
      monitor = Instrumentation::Monitor.new
      monitor.subscribe("error.occurred") { flunk "emitted in the wrong process" }
      recorder = Recorder.new(monitor) {}
      consumer = BaseConsumer.new
      [{caller: consumer}, {caller: nil}, {caller: self}, {}].each do |caller|
        recorder.instrument("error.occurred", {type: "x", error: nil, **caller})
      end

      assert_equal [consumer.id, nil, false, false], recorder.take.first.map(&:last)
    end

    test "the metadata of a mark in a child is sent with the record's offset" do
      sent = []
      shared_status = Object.new
      shared_status.define_singleton_method(:marked) { |*| nil }
      marks = ChildMarks.new(1, shared_status, ->(*metadata) { sent << metadata })
      marks.mark(5, "note")
      marks.mark(6)
      marks.store_metadata("other")

      assert_equal [["note", 5], ["other"]], sent
    end

    test "a thread that waits for a unit can be woken without one" do
      inbox = Inbox.new
      inbox << (order = Struct.new(:id).new(1))
      inbox.wake

      assert_equal [false, order], [inbox.begin, inbox.begin]
    end
  end
end
