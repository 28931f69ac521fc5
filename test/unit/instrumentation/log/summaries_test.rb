# frozen_string_literal: true

require "test_helper"
require "support/lanes"
require "support/log_lines"
require "penstock/consumer/base_consumer"
require "penstock/consumer/context"
require "penstock/execution/processes/remote_consumer"

module Penstock
  class LogSummariesTest < TestCase
    include TestSupport::Lanes
    include TestSupport::LogLines

    Parallel = Struct.new(:by, :max_partitions, :partitioner, :consistent?, :offset_metadata_strategy)

    def setup = log

    def call_ends(unit, partition, consumer)
      @monitor.instrument("consumer.consumed", {topic: "orders", partition: partition, first_offset: unit.messages.first_offset,
        last_offset: unit.messages.last_offset, messages_count: 1, attempt: 1, time: 1.0, lag: unit.lag, caller: consumer})
      settle(unit.lane, unit)
    end

    test "a busy topic has one line every five seconds: messages, calls, rate, times of calls, lag" do
      512.times do |call|
        consumed(partition: call % 2, count: 100, time: (call < 480) ? 1.0 : 8.0, lag: 1_550)
        @clock.advance(10) if call < 500
      end
      @listener.flush_due

      assert_equal ["INFO orders: 51,200 messages in 512 calls in 5 s (10,238/s), a call takes 0.99 ms (p50), 7.9 ms (p95); " \
                    "lag 3,100"], lines
    end

    test "an idle topic has no line, and what remained is logged once" do
      consumed(count: 3, time: 1.2)
      seconds_pass(4)
      assert_empty lines
      seconds_pass(100)

      assert_equal ["INFO orders: 3 messages in 1 call in 1 ms, which took 1.2 ms"], lines
      refute @listener.flush_due, "nothing is left for the thread"
    end

    test "at the stop the rest is logged before the last line" do
      consumed(count: 3)
      @monitor.instrument("app.stopped", server_id: "a")

      assert_match(/\AINFO orders: 3 messages in 1 call/, lines[0])
      assert_equal "INFO stopped: all groups are left", lines[1]
      seconds_pass(10)
      assert_equal 2, lines.size
    end

    test "a topic that two groups of the process consume has a line for each, with the group" do
      consumed(group: "billing", count: 2)
      consumed(group: "search", count: 3)
      consumed(topic: "clicks", count: 4)
      seconds_pass(5)

      assert_equal ["clicks: 4", "orders (group billing): 2", "orders (group search): 3"],
        lines.map { |line| line[/INFO (.*) messages/, 1] }.sort
    end

    test "the lag is that of the partitions consumed since the last line" do
      2.times { |partition| consumed(partition: partition, lag: 10) }
      seconds_pass(5)
      consumed(partition: 1, lag: 5)
      seconds_pass(5)

      assert_equal %w[20 5], lines.map { |line| line[/lag (\d+)/, 1] }
    end

    test "the lag counts the records that aren't complete when the line is written, whichever call ended last" do
      callers = {0 => ->(unit) { BaseConsumer.new.tap { |made| made.penstock_context = Consumer::Context.new(unit.lane, nil) } },
                 1 => ->(unit) { Execution::Processes::RemoteConsumer.new(unit, [], nil) }}
      callers.each do |partition, caller|
        lane = lane(route(features: {parallel: Parallel.new(:message, 4)}), committed: 0)
        admit(lane, batch(0..4, from: 0))
        lane.takes.log_end = 12
        earliest, *later = units_ahead(lane)
        later.reverse_each { |unit| call_ends(unit, partition, caller.call(unit)) }
        seconds_pass(5)
        call_ends(earliest, partition, caller.call(earliest))
        seconds_pass(5)
      end

      assert_equal %w[8 7] * 2, lines.map { |line| line[/lag (\d+)/, 1] }
    end

    test "calls are counted from many threads" do
      Array.new(8) { |partition| Thread.new { 500.times { consumed(partition: partition, count: 2) } } }.each(&:join)
      seconds_pass(5)

      assert_match(/orders: 8,000 messages in 4,000 calls/, lines.fetch(0))
    end

    test "counting a call allocates nothing" do
      event = Instrumentation::Event.new("consumer.consumed", {topic: "orders", partition: 0, first_offset: 1, last_offset: 1,
        messages_count: 1, attempt: 1, time: 1.0, lag: 2, caller: Caller.new(Route.new("app"))})
      @listener.on_consumer_consumed(event)
      before = GC.stat(:total_allocated_objects)
      1_000.times { @listener.on_consumer_consumed(event) }

      assert_operator GC.stat(:total_allocated_objects) - before, :<, 100
    end

    test "a topic of a pattern that is no longer consumed is forgotten" do
      summaries = Instrumentation::Log::Summaries.new
      1_000.times { |number| summaries.add("app", {topic: "audit.#{number}"}, 0) }
      assert_equal 1_000, summaries.take(5_000).size
      summaries.take(70_000)

      assert_empty summaries.instance_variable_get(:@groups).fetch("app")
    end

    test "two threads that take at the same time, as the log's thread and a stop do, get each count once" do
      summaries = Instrumentation::Log::Summaries.new
      other = nil
      summaries.add("app", {topic: "orders", messages_count: 3}, 0)
      counts = summaries.instance_variable_get(:@groups).fetch("app").fetch("orders")
      counts.define_singleton_method(:due?) { |now| super(now).tap { other ||= summaries.take(now, all: true) } }

      assert_empty summaries.take(5_000)
      assert_equal [3], other.map(&:messages)
    end

    test "a thread writes the summary, and ends" do
      before = Thread.list
      listener = Instrumentation::LoggerListener.new(@logger)
      payload = {topic: "orders", messages_count: 1, time: 1.0}
      listener.on_consumer_consumed(Instrumentation::Event.new("consumer.consumed", payload))
      thread = (Thread.list - before).fetch(0)

      listener.on_app_stopped(nil)
      assert thread.join(30), "the thread hasn't ended"
      assert_match(/orders: 1 message in 1 call/, @output.string)
    end
  end
end
