# frozen_string_literal: true

require_relative "lines"

module Penstock
  module Instrumentation
    # The lines of {LoggerListener} about the outbox.
    module OutboxLines
      # Maximum number of row ids in a line.
      NAMED = 10

      def on_outbox_relay_started(event)
        @log.info(event) { "outbox #{event[:table]}: a relay has started" }
      end

      def on_outbox_relay_stopped(event)
        @log.info(event) { "outbox #{event[:table]}: the relay has ended" }
      end

      def on_outbox_relayed(event)
        @log.debug(event) { "outbox #{event[:table]}: #{Lines.count(event[:messages_count], "message")} delivered" }
      end

      def on_outbox_parked(event)
        @log.repeated(:warn, event) do
          "outbox #{event[:table]}: #{rows(event)} for topic #{event[:topic]} can't be delivered for now " \
            "(#{Lines.failure(event)}); retried in #{Lines.duration(event[:retry_in_ms])}, later rows of their key wait"
        end
      end

      def on_outbox_set_aside(event)
        @log.repeated(:error, event) do
          "outbox #{event[:table]}: #{rows(event)} for topic #{event[:topic]} refused and set aside (#{Lines.failure(event)}). " \
            "`penstock outbox retry` sends them, `penstock outbox discard` deletes them"
        end
      end

      def on_outbox_lag(event)
        counts = event.payload.slice(:parked, :held, :aside).select { |_name, count| count&.positive? }
        @log.debug(event) do
          age = ", the oldest for #{Lines.duration(event[:oldest_age_ms])}" if event[:oldest_age_ms]
          ["outbox #{event[:table]}: #{Lines.count(event[:count], "row")} to be sent#{age}",
            *counts.map { |name, count| "#{count} #{name}" }].join(", ")
        end
      end

      private

      def rows(event)
        ids = Array(event[:rows])
        more = ids.size - NAMED
        "row#{"s" unless ids.one?} #{ids.first(NAMED).join(", ")}#{" and #{more} more" if more.positive?}"
      end
    end
  end
end
