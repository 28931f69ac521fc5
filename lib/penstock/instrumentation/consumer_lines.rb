# frozen_string_literal: true

require_relative "lines"

module Penstock
  module Instrumentation
    # The lines of {LoggerListener} about calls of user code, and about the flow of a partition; part of it.
    module ConsumerLines
      def on_consumer_consume(event)
        @log.debug(event) { "#{Lines.lane(event)}: consuming #{Lines.batch(event)}#{Lines.attempt(event)}" }
      end

      # The summary of its topic has it.
      def on_consumer_consumed(event)
        @log.count(event)
        @log.debug(event) do
          "#{Lines.lane(event)}: consumed #{Lines.batch(event)} in #{Lines.time(event)}#{Lines.lag(event)}#{Lines.attempt(event)}"
        end
      end

      def on_consumer_revoked(event)
        hook(event, :revoked)
      end

      def on_consumer_shutdown(event)
        hook(event, :shutdown)
      end

      def on_consumer_eofed(event)
        @log.debug(event) { "#{Lines.lane(event)}: the hook eofed ran in #{Lines.time(event)}" }
      end

      def on_consumer_ticked(event)
        @log.debug(event) { "#{Lines.lane(event)}: the hook tick ran in #{Lines.time(event)}" }
      end

      def on_consumer_consuming_pause(event)
        return @log.repeated(:info, event) { Lines.pause(event, "by the consumer") } if event[:manual]
        @log.debug(event) { Lines.pause(event, "before a retry") } # the line of the error has it
      end

      def on_consumer_consuming_retry(event)
        @log.repeated(:info, event) do
          "#{Lines.lane(event)}: offset #{event[:offset]} is tried again (attempt #{event[:attempt]})"
        end
      end

      def on_consumer_consuming_seek(event)
        @log.repeated(:info, event) { "#{Lines.lane(event)}: the consumer seeks to #{Lines.target(event[:message])}" }
      end

      def on_filtering_throttled(event)
        @log.repeated(:info, event) do
          "#{Lines.lane(event)}: waits at offset #{event[:offset]} for #{Lines.duration(event[:timeout])}#{Lines.reason(event)}"
        end
      end

      def on_filtering_seek(event)
        @log.repeated(:info, event) { "#{Lines.lane(event)}: a filter seeks to offset #{event[:offset]}" }
      end

      def on_consumer_redelivery(event) = @log.repeated(:info, event) { Lines.redelivery(event) }

      def on_filtering_expired(event)
        @log.repeated(:info, event) { "#{Lines.record(event)} has expired, and was sent to #{Lines.letter(event)}" }
      end

      def on_filtering_dropped(event)
        @log.debug(event) do
          "#{Lines.lane(event)}: not consumed: #{Lines.count(event[:count], "message")} (#{Lines.offsets(event)})" \
            "#{Lines.reason(event)}"
        end
      end

      def on_consumer_offset_reset(event)
        @log.repeated(:warn, event) { Lines.offset_reset(event) }
      end

      def on_consumer_discontinuity(event)
        @log.repeated(:warn, event) do
          "#{Lines.lane(event)}: a take began at offset #{event[:actual]} instead of #{event[:expected]}; seeking back"
        end
      end

      def on_consumer_unfinished(event)
        @log.repeated(:warn, event) do
          "#{Lines.lane(event)}: each was left at offset #{event[:stopped_at]} without an error; the whole batch " \
            "(#{Lines.offsets(event)}) counts as consumed. For early exits use manual_offset_management"
        end
      end

      def on_consumer_long_running(event)
        @log.repeated(:warn, event) do
          "#{Lines.lane(event)}: a job on #{Lines.offsets(event)} has been running for #{Lines.duration(event[:waited_ms])}"
        end
      end

      def on_consumer_time_limit(event)
        @log.repeated(:error, event) do
          "#{Lines.lane(event)}: a job on #{Lines.offsets(event)} takes longer than its time_limit of " \
            "#{Lines.duration(event[:limit])} and is ended. Backtrace:\n#{Array(event[:backtrace]).join("\n")}"
        end
      end

      def on_partition_starved(event)
        @log.repeated(:warn, event) do
          "#{Lines.lane(event)}: its records have waited #{Lines.duration(event[:waited_ms])} for a worker"
        end
      end

      def on_partition_window_full(event)
        @log.repeated(:warn, event) { Lines.window_full(event) }
      end

      def on_consumer_unmarked(event) = @log.warn(event) { Lines.unmarked(event) }

      def on_fibers_blocked(event)
        @log.repeated(:warn, event) do
          "#{Lines.lane(event)}: blocks #{event[:thread]} for #{Lines.duration(event[:waited_ms])}: no other fiber of the " \
            "thread can run. Backtrace:\n#{Array(event[:backtrace]).join("\n")}"
        end
      end

      def on_process_pool_child_started(event)
        @log.debug(event) { "process #{event[:pid]} of the pool was forked" }
      end

      def on_process_pool_child_died(event)
        @log.error(event) { "process #{event[:pid]} of the pool #{event[:reason]}; another one replaces it" }
      end

      private

      def hook(event, name)
        @log.repeated(:info, event) { "#{Lines.lane(event)}: the hook #{name} ran in #{Lines.time(event)}" } if own?(event, name)
      end

      # Penstock runs the empty hooks of {BaseConsumer}, too.
      def own?(event, name)
        consumer = event[:caller] or return true
        method = consumer.respond_to?(name, true) ? consumer.method(name) : consumer.topic.consumer.instance_method(name)
        method.owner.name != "Penstock::BaseConsumer"
      rescue NameError
        true # published by code of the application
      end
    end
  end
end
