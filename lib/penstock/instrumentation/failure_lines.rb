# frozen_string_literal: true

require_relative "error_line"
require_relative "lines"

module Penstock
  module Instrumentation
    # The lines of {LoggerListener} about records that fail; part of it.
    module FailureLines
      def on_dead_letter_queue_dispatched(event)
        @log.repeated(:warn, event, kind_of(event)) do
          "#{Lines.record(event)} was dead-lettered to #{Lines.letter(event)}: #{Lines.failure(event)}"
        end
      end

      def on_retry_topic_dispatched(event)
        @log.repeated(:info, event, kind_of(event)) do
          "#{Lines.record(event)} was sent to the retry topic #{event[:to]}: #{Lines.failure(event)}"
        end
      end

      def on_consumer_skipped(event)
        @log.repeated(:warn, event, kind_of(event)) { "#{Lines.record(event)} was skipped: #{Lines.failure(event)}" }
      end

      def on_consumer_suspected(event)
        @log.repeated(:warn, event) do
          "#{event[:topic]}/#{event[:partition]}: the last #{Lines.count(event[:unclean], "owner")} ended without stopping " \
            "cleanly. In case a record kills the process, those from offset #{event[:offset]} on run in small batches, and " \
            "those that were in progress when it died run one at a time"
        end
      end

      def on_consumer_quarantined(event)
        @log.repeated(:error, event) do
          "#{Lines.record(event)} isn't run again: the process died #{event[:crashes]} times while it ran only this record"
        end
      end

      def on_error_occurred(event)
        line = ErrorLine.new(event, full: @log.debug?)
        return @log.repeated(line.level, event, line.kind) { line.to_s } unless line.level == :fatal

        @log.flush # the process may end without another chance
        @log.fatal(event) { line.to_s }
      end

      private

      def kind_of(event) = [event[:to], event[:error].class.name]
    end
  end
end
