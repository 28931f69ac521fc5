# frozen_string_literal: true

require_relative "../../clock"
require_relative "../lines"
require_relative "repetitions"
require_relative "summaries"
require_relative "ticker"

module Penstock
  module Instrumentation
    module Log
      # Writes the lines of {LoggerListener}: one per event that is rare, a limited number of those that repeat
      # ({Repetitions}), and a summary of each busy topic ({Summaries}). At level debug nothing that repeats is left out.
      #
      # Any thread. Summaries and counts are written by a thread that exists only while there are some ({Ticker}), and by
      # {#flush}.
      class Writer
        # Payload of a summary's entry.
        Named = Struct.new(:id, :payload) do
          # As an event does.
          def [](key) = payload[key]
        end
        private_constant :Named

        # @param logger [SafeLogger]
        # @param clock [Clock]
        # @param ticker [#wake, nil] calls {#flush_due} every second; nil: a thread
        def initialize(logger, clock: Clock::SYSTEM, ticker: nil)
          @logger = logger
          @clock = clock
          @summaries = Summaries.new
          @repetitions = Repetitions.new
          @ticker = ticker || Ticker.new { flush_due }
        end

        # @return [Boolean]
        def debug? = @logger.debug?

        %i[debug info warn error fatal].each do |level|
          # @param event [Event]
          # @yieldreturn [String] the line, built only if the level is logged
          # @return [void]
          class_eval <<~RUBY, __FILE__, __LINE__ + 1 # without a block object, which costs more than the check
            def #{level}(event) = (write(:#{level}, yield, event) if @logger.#{level}?)
          RUBY
        end

        # Writes a line that may come thousands of times.
        # @param level [Symbol]
        # @param event [Event]
        # @param kind [Object] lines of the same kind are counted together, per event and topic
        # @yieldreturn [String] the line
        # @return [void]
        def repeated(level, event, kind = nil, &line)
          return unless @logger.public_send(:"#{level}?")
          return write(level, yield, event) if @logger.debug?

          scope = event[:topic] || event[:producer_id] || Lines.group(event)
          written = @repetitions.write?(scope, [event.id, kind], @clock.monotonic_ms, level, event, line)
          @ticker.wake
          write(level, yield, event) if written
        end

        # Counts a call of `consume`.
        # @param event [Event] `consumer.consumed`
        # @return [void]
        def count(event)
          payload = event.payload
          consumer = payload[:caller]
          @summaries.add(consumer && group_of(consumer), payload, @clock.monotonic_ms)
          @ticker.wake
        end

        # Writes the summaries and counts that are due.
        # @return [Boolean] whether others will be
        def flush_due
          flush(all: false)
          !(@summaries.empty? && @repetitions.empty?)
        end

        # Writes what was counted.
        # @param all [Boolean] also what isn't due yet
        # @return [void]
        def flush(all: true)
          now = @clock.monotonic_ms
          @repetitions.take(now, all: all).each { |report| repetition(report) }
          @summaries.take(now, all: all).each { |report| summary(report) }
          @ticker.hurry if all
        end

        private

        def group_of(consumer)
          consumer.topic.consumer_group_id
        rescue NoMethodError
          nil # published by code of the application
        end

        def write(level, text, event) = @logger.event(level, text, event, @logger.tagged? ? tags(event) : [])

        def tags(event)
          group = event[:consumer_group_id] || (event[:caller] && group_of(event[:caller]))
          [group, event[:topic]].compact.map { |tag| Printable.line(tag, Printable::NAME_BYTES) }
        end

        def repetition(report)
          write(report.level, Lines.repetition(report, report.line.call.lines.first.to_s.chomp), report.event)
        end

        def summary(report)
          return unless @logger.info?

          payload = {topic: report.topic, consumer_group_id: report.group, messages_count: report.messages, count: report.calls,
                     lag: report.lag}
          write(:info, Lines.summary(report), Named.new("summary", payload))
        end
      end
    end
  end
end
