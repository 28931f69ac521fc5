# frozen_string_literal: true

require "test_helper"
require "support/log_lines"

module Penstock
  class LogRepetitionsTest < TestCase
    include TestSupport::LogLines

    def setup = log

    test "a storm of one error is three lines, then a count every five seconds; every event is delivered" do
      seen = 0
      @monitor.subscribe("error.occurred") { seen += 1 }
      1_243.times { |number| failed(ArgumentError.new("no total in #{number}"), offset: number) }

      assert_equal 3, lines.size
      seconds_pass(5)
      assert_equal 1_243, seen
      assert_equal "ERROR the same error 1,240 times in the last 5 s, the last: orders/3: consume failed at offset 1242, " \
                   "attempt 1; tried again in 2 s: ArgumentError: no total in 1242", lines.fetch(3)
      2_000.times { |number| failed(ArgumentError.new("no total in #{number}")) }
      seconds_pass(5)
      assert_equal 5, lines.size, "while it lasts, only the count is written"
    end

    test "an error that becomes rare again is written in full again" do
      10.times { failed(ArgumentError.new("no total")) }
      seconds_pass(10)
      failed(ArgumentError.new("no total"))

      assert_equal 5, lines.size
      assert_match(/\AERROR orders.3: consume failed/, lines.last)
      seconds_pass(5)
      refute @listener.flush_due
    end

    test "errors that differ in class, message, topic or place are different" do
      elsewhere = ArgumentError.new("a").tap { |error| error.set_backtrace(["x.rb:1"]) }
      [ArgumentError.new("a"), ArgumentError.new("b"), KeyError.new("a"), elsewhere].each { |error| 3.times { failed(error) } }
      3.times { failed(ArgumentError.new("a"), topic: "clicks") }

      assert_equal 15, lines.count { |line| line.start_with?("ERROR") }
    end

    test "at level debug nothing is left out" do
      log(Logger::DEBUG)
      50.times { failed(ArgumentError.new("no total")) }

      assert_equal 50, lines.size
    end

    test "an error that can end the process is written at once, after what was counted" do
      10.times { failed(ArgumentError.new("no total")) }
      failed(IOError.new("x"), type: "app.stopping.error")

      assert_match(/\AERROR the same error 7 times/, lines[3])
      assert_match(/\AFATAL/, lines[4])
    end

    # Calls that a topic under load has in a second: in order, by key and by message. A tenth of them fails.
    LOADS = {
      "in order" => {calls: 50, count: 100, kinds: 1}, "by key" => {calls: 200, count: 10, kinds: 3},
      "by message" => {calls: 600, count: 1, kinds: 40}
    }.freeze

    LOADS.each do |mode, load|
      test "under load, #{mode}, a topic writes at most five lines a second, and its summaries" do
        20.times do |second|
          load[:calls].times { |call| consumed(partition: call % 6, first: call, count: load[:count], lag: 100) }
          (load[:calls] / 10).times { |number| storm(second, number, load[:kinds]) }
          seconds_pass(1)
        end
        seconds_pass(5)

        entries = lines.grep(/\A(INFO|WARN|ERROR) /)
        assert_operator entries.size, :<=, 5 * 20
        assert_equal 4, entries.grep(/messages in/).size
        messages = entries.sum { |line| line[/([\d,]+) messages? in/, 1].to_s.delete(",").to_i }
        assert_equal load[:calls] * load[:count] * 20, messages
      end
    end

    test "the counts of different kinds of lines add up" do
      100.times { |number| storm(0, number, 40) }
      seconds_pass(5)
      written, counts = lines.partition { |line| line !~ /in the last/ }
      counted = counts.sum { |line| line.include?("once more") ? 1 : line[/([\d,]+) (?:times|other line)/, 1].delete(",").to_i }

      assert_equal 400, written.size + counted
      assert_operator counts.grep(/other lines in the last 5 s/).size, :==, 1
    end

    private

    # A record that fails, is retried or leaves the topic, and is waited for.
    def storm(second, number, kinds)
      place = {topic: "orders", partition: number % 6, offset: number}
      error = ArgumentError.new("no total: #{(97 + (number % kinds)).chr * 3} #{second}")
      failed(error, **place)
      @monitor.instrument("consumer.consuming.retry", {**place, timeout: 0, attempt: 2})
      @monitor.instrument("retry_topic.dispatched", {**place, attempt: 1, message: nil, to: "orders.retry.1", error: error})
      @monitor.instrument("filtering.throttled", {**place, timeout: 10, reason: "throttle"})
    end
  end
end
