# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "support/virtual_clock"
require "penstock/consumer/pool"
require "penstock/consumer/base_consumer"
require "penstock/execution/middleware_stack"
require "penstock/execution/unit_runner"
require "penstock/instrumentation/monitor"
require "penstock/clock"
require "penstock/execution/run_queue"

module Penstock
  class BaseConsumerTest < TestCase
    include TestSupport::Lanes

    # Connection to the loop; records the requests.
    class Link
      attr_reader :requests, :commits
      attr_accessor :stopping, :offset

      def initialize
        @requests = []
        @commits = []
      end

      def commit(_lane, incarnation) = (@commits << incarnation).any?
      def request(_lane, flow) = @requests << flow
      def offset_at(_lane, _ms) = offset
      def producer = :producer
      def clock = @clock ||= VirtualClock.new
      def stopping? = stopping || false
    end

    class Recorder < BaseConsumer
      class << self
        attr_accessor :log, :script, :unready, :ending
      end

      def initialized
        Recorder.log << [:initialized, topic.name]
        raise "not ready" if Recorder.unready
      end

      def consume = instance_exec(&Recorder.script)
      def revoked = Recorder.log << [:revoked, messages.size]
      def shutdown = Recorder.ending ? instance_exec(&Recorder.ending) : Recorder.log << [:shutdown, used?]

      def wrap(action)
        Recorder.log << [:wrap, action]
        yield
      end
    end

    def setup
      Recorder.log = []
      Recorder.unready = false
      Recorder.ending = nil
      Recorder.script = -> {}
      @link = Link.new
      @topic = route
      consumer = Recorder
      @topic.define_singleton_method(:consumer) { consumer }
      @lane = Processing::Lane.new(topic: @topic, topic_name: "orders", partition: 0, epoch: 1)
      @lane.adopt(0)
      admit(@lane, batch(0..4, from: 0))
      @context = Consumer::Context.new(@lane, @link)
      @slot = Execution::RunQueue::Slot.new("orders", Consumer::Pool.new { @context })
      @monitor = Instrumentation::Monitor.new(strict: true)
    end

    def runner(*layers)
      middleware = Execution::MiddlewareStack.new(layers)
      Execution::UnitRunner.new(monitor: @monitor, middleware: middleware, clock: Clock::SYSTEM)
    end

    def consume(&script)
      Recorder.script = script
      runner.call(@slot, @lane.next_unit)
    end

    def no_messages = Messages.new(Messages::MemoryBatch.new("orders", 0, []))

    # Runs `shutdown` with the block as its body.
    # @return [Object] what the block returns
    def in_hook(&body)
      result = nil
      Recorder.ending = -> { result = instance_exec(&body) }
      outcome = runner.call(@slot, @lane.action_unit(:shutdown, no_messages))
      raise outcome.error if outcome.error
      result
    end

    # Two batches of the same partition.
    def consume_twice(&script)
      first = consume(&script)
      admit(@lane, batch(5..6, from: 5))
      [first, consume(&script)]
    end

    test "[lazy consumer build] there is no instance before the first unit" do
      assert_nil @context.consumer
      consume {}
      assert_instance_of Recorder, @context.consumer
    end

    test "[persistent instance] instance variables survive from one batch to the next" do
      consume { @count = 1 }
      admit(@lane, batch(5..6, from: 5))
      seen = nil
      consume { seen = @count }
      assert_equal 1, seen
    end

    test "[initialized hook] it runs once, with the topic known" do
      consume_twice {}
      assert_equal 1, Recorder.log.count([:initialized, "orders"])
    end

    test "[initialized hook] if it raises the error is reported, the records are consumed, and it isn't called again" do
      Recorder.unready = true
      errors = []
      seen = []
      @monitor.subscribe("error.occurred") { |event| errors << event.payload }
      outcomes = consume_twice { seen << messages.first.offset }
      assert_equal [false, false], outcomes.map(&:stalls?)
      assert_equal [[0, 5], 1], [seen, Recorder.log.count([:initialized, "orders"])]
      place = {type: "consumer.initialized.error", topic: "orders", partition: 0, seek_offset: 0, caller: @context.consumer}
      assert_equal [place], errors.map { |payload| payload.except(:error) }
      assert_equal "not ready", errors.first[:error].message
    end

    test "[wrap] it wraps every action, and a falsy return value does no harm" do
      outcome = consume { nil }
      assert_equal [:wrap, :consume], Recorder.log.last
      refute_predicate outcome, :stalls?
    end

    test "[used?] it is true once consume was called, false in a hook before" do
      runner.call(@slot, @lane.action_unit(:shutdown, Messages.new(Messages::MemoryBatch.new("orders", 0, []))))
      assert_includes Recorder.log, [:shutdown, false]
      consume {}
      assert @context.consumer.used?
    end

    test "a synchronous commit names the lane incarnation of its unit" do
      lane = @lane
      consume do
        mark_as_consumed!(messages.first)
        mark_as_consumed(messages.first)
        lane.reincarnate(0)
        commit_offsets!
      end
      assert_equal [0, 0], @link.commits
    end

    test "[attempt/retrying?] 1 and false on the first attempt" do
      seen = nil
      consume { seen = [attempt, retrying?] }
      assert_equal [1, false], seen
    end

    test "an error is blamed on the current record, and the outcome contains both" do
      outcome = consume { messages.each { |message| raise "no" if message.offset == 2 } }
      assert_equal ["no", 2, false], [outcome.error.message, outcome.blamed, !outcome.stalls?]
    end

    test "every exception class is rescued" do
      [SystemExit.new(3), NotImplementedError.new("x"), NoMemoryError.new("x")].each do |error|
        setup
        assert_same error, consume { raise error }.error
      end
    end

    test "an error of consume is reported once, with its type" do
      seen = []
      @monitor.subscribe("error.occurred") { |event| seen << event[:type] }
      consume { raise "no" }
      assert_equal ["consumer.consume.error"], seen
    end

    test "the events of consume contain the partition, the offsets and the number of messages" do
      seen = []
      @monitor.subscribe("consumer.consumed") { |event|
        seen << event.payload.slice(:topic, :partition, :first_offset, :last_offset, :messages_count)
      }
      consume {}
      assert_equal [{topic: "orders", partition: 0, first_offset: 0, last_offset: 4, messages_count: 5}], seen
    end

    test "a mark is written for the lane incarnation its record came from" do
      old = nil
      consume { old = messages.first }
      @lane.reincarnate(0)
      refute @context.consumer.mark_as_consumed(old)
      assert_equal(-1, @lane.marks.through)
    end

    test "[offset metadata] after the partition is lost a mark with metadata returns false, and neither of them is stored" do
      consume { mark_as_consumed(messages.to_a[1], "page 1") }
      consumer = @context.consumer
      last = consumer.messages.last
      @lane.marks.end_ownership!
      assert_equal [false, false], [consumer.mark_as_consumed(last, "page 2"), consumer.mark_as_consumed!(last, "page 2")]
      assert_equal [2, "page 1", []], [@lane.marks.through, @lane.marks.metadata, @link.commits]
      assert_equal [false, false], [consumer.store_offset_metadata("page 3"), consumer.offset_metadata]
    end

    test "a record of another partition can't be marked" do
      other = Messages.new(Messages::MemoryBatch.new("orders", 7, [Messages::MemoryBatch::Row.new(offset: 1)])).first
      consume {}
      error = assert_raises(ArgumentError) { @context.consumer.mark_as_consumed(other) }
      assert_includes error.message, "orders/7/1"
    end

    test "[revoked? flips] it is true as soon as the lane is being left" do
      consume {}
      refute @context.consumer.revoked?
      @lane.leave!
      assert @context.consumer.revoked?
      assert @context.consumer.stopping?
    end

    test "[seek offset/Time] a seek takes effect with the outcome; a time is looked up first" do
      @link.offset = 42
      outcome = consume { seek(Time.at(0)) }
      assert_equal Consumer::Flow::Seek.new(42), outcome.flow
    end

    test "[failing time seek] a time without a record raises and skips nothing" do
      outcome = consume { seek(Time.at(2_000_000_000)) }
      assert_instance_of InvalidTimeBasedOffsetError, outcome.error
      assert_nil outcome.flow
    end

    test "outside a unit pause, resume and seek are sent to the loop as requests" do
      consume {}
      consumer = @context.consumer
      consumer.pause(3, 100)
      consumer.resume
      consumer.seek(:latest)
      assert_equal [Consumer::Flow::Pause.new(3, 100), Consumer::Flow::Resume.new, Consumer::Flow::Seek.new(:latest)],
        @link.requests
    end

    test "a resume that overtakes the outcome of the unit that paused ends its pause" do
      outcome = consume { pause(3) }
      assert_equal Consumer::Flow::Pause.new(3, 1_000), outcome.flow
      @context.consumer.resume
      assert_equal Consumer::Flow::Pause.new(3, 0), outcome.flow
    end

    test "pause and seek reject an invalid offset or timeout immediately: the poll loop would fail with it" do
      wrong = [-> { pause("12") }, -> { pause(:latest) }, -> { pause(1.5) }, -> { pause(-1) }, -> { pause(2**64) },
        -> { pause(:consecutive, "5") }, -> { pause(:consecutive, Float::NAN) }, -> { pause(:consecutive, -Float::INFINITY) },
        -> { seek(-5) }, -> { seek(2**64) }, -> { seek(1.5) }]
      refused = wrong.map do |ask|
        setup
        consume { instance_exec(&ask) }.then { |outcome| [outcome.error.class, outcome.flow] }
      end
      assert_equal [[ArgumentError, nil]] * wrong.size, refused
    end

    # A double of Active Support's Duration.
    Seconds = Struct.new(:number) do
      def in_milliseconds = number * 1_000.0
      def is_a?(type) = type == Numeric || super
    end

    test "[tick_in] the earliest wish is passed on at once, none of a lost partition, and bad times are refused" do
      Recorder.define_method(:tick) { nil }
      consume { Recorder.log = [300, 100, 200, 1].map { |ms| tick_in(ms) } }
      assert_equal [[true] * 4, %i[tick tick tick], 1_001], [Recorder.log, @link.requests, @lane.tick_wish.due]
      errors = [nil, "5", Float::INFINITY, 2.5].map { |wrong| assert_raises(ArgumentError) { @context.tick_in(wrong) }.message }
      errors.each { |message| assert_match(/\Atick_in takes a timeout in ms/, message) }
      refute @lane.end_ownership!.then { @context.tick_in(5) }
    ensure
      Recorder.remove_method(:tick)
    end

    test "[tick_in] it is refused without a tick to call" do
      assert_match(/tick_in of \S+Recorder calls tick.*define `tick`/m, consume { tick_in(5) }.error.message)
    end

    test "a duration of Active Support is a pause of that time, and a fraction that looks like seconds is refused" do
      durations = [Seconds.new(2.5), Seconds.new(Float::INFINITY), 30, 120.5, -0.5]
      assert_equal [2_500, nil, 30, 121, 10], durations.map { |time|
        setup
        consume { pause(3, time) }.flow.to_a.last
      }
      {2.5 => "write 2500 for 2.5 s, or 3 for that many ms", 0.5r => "write 500 for 1/2 s"}.each do |time, way_out|
        setup
        error = consume { pause(3, time) }.error
        assert_instance_of ArgumentError, error
        assert_includes error.message, way_out
      end
    end

    test "a pause is a whole number of ms, at least 10; without a time it is the route's, infinite it has no end" do
      pauses = [[:consecutive, 250.2], [3, -5], [3, 9], [nil, nil], [3], [3, Float::INFINITY]].map do |arguments|
        setup
        consume { pause(*arguments) }.flow.to_a
      end
      assert_equal [[nil, 251], [3, 10], [3, 10], [nil, 1_000], [3, 1_000], [3, nil]], pauses
    end

    test "a seek that isn't to move the committed offset is refused, and nothing moves" do
      outcome = consume { seek(3, reset_offset: false) }
      assert_instance_of UnsupportedCaseError, outcome.error
      assert_match(/seek\(3, reset_offset: false\) is not possible.*call seek without reset_offset/, outcome.error.message)
      assert_nil outcome.flow
    end

    test "[shutdown hook] messages are those of the last call, and can be marked" do
      consume { nil }
      marked = in_hook { [messages.map(&:offset), mark_as_consumed(messages.last)] }
      assert_equal [[0, 1, 2, 3, 4], true], marked
      assert_equal 5, @lane.marks.through
    end

    test "in a hook the messages of a call that failed can't be marked: they come again" do
      kept = nil
      consume do
        kept = messages.first
        messages.each { |message| raise "no" if message.offset == 3 }
      end
      marked = in_hook { [messages.map(&:offset), mark_as_consumed(messages.last), mark_as_consumed!(messages[2])] }
      assert_equal [[0, 1, 2, 3, 4], false, false], marked
      assert_equal(-1, @lane.marks.through)
      assert @context.consumer.mark_as_consumed(kept), "a message that the consumer has kept counts as before"
    end

    test "in a hook the messages of a call that paused at one of them can't be marked: from there they come again" do
      consume { pause(3, 100) }
      refute in_hook { mark_as_consumed(messages.last) }
      refute in_hook { mark_as_consumed(messages.last) }, "nor in the next hook"
      assert_equal(-1, @lane.marks.through)
    end

    test "in a hook the messages of a call that paused after them can be marked" do
      consume { pause(:consecutive, 100) }
      assert in_hook { mark_as_consumed(messages.last) }
      assert_equal 5, @lane.marks.through
    end

    test "after a failed call the messages of the next one can be marked in a hook" do
      consume { raise "no" }
      admit(@lane, batch(5..6, from: 5))
      consume { nil }
      assert_equal [[5, 6], true], in_hook { [messages.map(&:offset), mark_as_consumed(messages.last)] }
    end

    test "[eofed] eofed? is true in a hook after the end of the partition was reached, until records are consumed again" do
      consume { nil }
      refute in_hook { eofed? }
      runner.call(@slot, @lane.action_unit(:eofed, no_messages))
      assert in_hook { eofed? }
      admit(@lane, batch(5..6, from: 5))
      consume { nil }
      refute in_hook { eofed? }
    end

    test "every method that stores offset metadata rejects a non-String and a String that is too long, and stores a copy" do
      text = +"page 7"
      errors = []
      consume do
        [123, "x" * 1_025].each do |metadata|
          store_offset_metadata(metadata)
        rescue ArgumentError => error
          errors << error.message
        end
        store_offset_metadata(text)
        text << "x" * 2_000
      end
      assert_match(/String, not 123.*1025 bytes/m, errors.join)
      assert_equal "page 7", @lane.marks.metadata
    end

    test "offset metadata over its limit is rejected, and the error names the limit" do
      consume {}
      message = Messages.new(batch([1])).first
      error = assert_raises(ArgumentError) { @context.consumer.mark_as_consumed(message, "x" * 1_025) }
      assert_includes error.message, "1024"
    end

    test "middleware wraps user code, the outermost first" do
      order = []
      layer = ->(name) { ->(_consumer, action, &core) { (order << [name, action]) && core.call } }
      Recorder.script = -> { order << :code }
      runner(layer[:outer], layer[:inner]).call(@slot, @lane.next_unit)
      assert_equal [[:outer, :consume], [:inner, :consume], :code], order
    end

    test "a subclass without consume raises an error that asks the developer to implement it" do
      error = assert_raises(NotImplementedError) { Class.new(BaseConsumer).new.consume }
      assert_includes error.message, "implement"
    end
  end
end
