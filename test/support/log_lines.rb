# frozen_string_literal: true

require "logger"
require "stringio"
require "support/virtual_clock"
require "penstock/instrumentation/logger_listener"
require "penstock/instrumentation/monitor"

module Penstock
  module TestSupport
    # A {Instrumentation::LoggerListener} on a virtual clock, without a thread: its summaries come when {#seconds_pass} is called.
    module LogLines
      # Consumer and topic, as far as listeners need them.
      Caller = Struct.new(:topic)
      Route = Struct.new(:consumer_group_id)
      # Never calls.
      class Still
        attr_reader :woken

        def wake = @woken = true
      end

      def log(level = Logger::INFO)
        @output = StringIO.new
        @clock = VirtualClock.new
        @ticker = Still.new
        @logger = Logger.new(@output, level: level, formatter: ->(severity, _time, _name, text) { "#{severity} #{text}\n" })
        @listener = Instrumentation::LoggerListener.new(@logger, clock: @clock, ticker: @ticker)
        @monitor = Instrumentation::Monitor.new(strict: true)
        @monitor.subscribe(@listener)
      end

      def lines = @output.string.lines(chomp: true)

      # @param seconds [Integer] the listener's thread runs once each
      def seconds_pass(seconds)
        seconds.times do
          @clock.advance(1_000)
          @listener.flush_due
        end
      end

      def consumed(partition: 0, first: 0, count: 1, time: 1.0, topic: "orders", group: "app", lag: nil)
        @monitor.instrument("consumer.consumed", {topic: topic, partition: partition, first_offset: first,
          last_offset: first + count - 1, messages_count: count, attempt: 1, time: time, lag: lag,
          caller: Caller.new(Route.new(group))})
      end

      def failed(error, offset: 7, **more)
        @monitor.instrument("error.occurred", {type: "consumer.consume.error", topic: "orders", partition: 3, offset: offset,
          first_offset: offset, last_offset: offset, attempt: 1, next: :retry, retry_in_ms: 2_000, error: error, **more})
      end
    end
  end
end
