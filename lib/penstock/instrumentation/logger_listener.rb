# frozen_string_literal: true

require_relative "breaker_lines"
require_relative "error_line"
require_relative "lines"
require_relative "outbox_lines"
require_relative "producer_lines"
require_relative "safe_logger"
require_relative "swarm_lines"

module Penstock
  module Instrumentation
    # Writes events to a logger, one readable line per event.
    #
    #     monitor.subscribe(Penstock::Instrumentation::LoggerListener.new(logger))
    #
    # Names, messages and errors come from outside, so every entry is made safe to print before it is logged
    # ({SafeLogger}).
    #
    # Runs on the thread that publishes. Its only state is the logger and the breakers it has logged recently.
    class LoggerListener
      include BreakerLines
      include OutboxLines
      include ProducerLines
      include SwarmLines

      class << self
        # Returns the logger for listeners that are created without one. The code that knows the application sets it.
        # @return [#call, nil]
        # @api private
        attr_accessor :default
      end

      # @param logger [#debug, #info, #warn, #error, #fatal, nil] a Logger or something like it; nil: the application's
      # @param log_messages [Boolean] writes the messages a producer sends, at level debug
      # @param log_polling [Boolean] accepted, without effect: Penstock's poll loops don't poll in intervals
      # @raise [ArgumentError] there is neither a logger nor an application
      def initialize(logger = nil, log_messages: false, log_polling: true)
        logger ||= LoggerListener.default&.call
        raise ArgumentError, "LoggerListener.new needs a logger: there is no application to take one from" unless logger
        @logger = SafeLogger.of(logger)
        @log_messages = log_messages
      end

      # @!group Application

      def on_app_initialized(event)
        @logger.debug { "process #{event[:server_id]}: set up" }
      end

      def on_app_running(event)
        @logger.info { "process #{event[:server_id]}: running (pid #{::Process.pid})" }
      end

      def on_app_quieting(_event)
        @logger.info { "quieting: no new work is taken, running jobs finish" }
      end

      def on_app_quiet(_event)
        @logger.info { "quiet: no job runs any more, the process stays in its groups" }
      end

      def on_app_stopping(_event)
        @logger.info { "stopping: running jobs have shutdown_timeout to finish" }
      end

      def on_app_stopped(_event)
        @logger.info { "stopped: all groups are left" }
      end

      def on_app_terminated(_event)
        @logger.debug { "terminated" }
      end

      def on_app_interrupting(event)
        @logger.warn { "shutdown_timeout has ended, interrupting: #{Lines.list(event[:jobs])}" }
      end

      def on_listener_slow(event) = @logger.warn { Lines.slow_listener(event) }

      def on_flight_recorder_dumped(event)
        @logger.warn { "flight recorder (#{event[:reason]}): #{event[:path]}, for `penstock replay`" }
      end

      def on_process_notice_signal(event)
        @logger.info { "received SIG#{event[:signal].to_s.delete_prefix("SIG")}" }
      end

      def on_worker_scaling_up(event)
        return if event[:from].eql?(0) # their start

        @logger.info { "up to #{event[:to]} workers, not #{event[:from]}" }
      end

      def on_worker_scaling_down(event)
        @logger.info { "up to #{event[:to]} workers, not #{event[:from]}; running jobs finish" }
      end

      # @!group Connection

      def on_connection_topic(event)
        line = Lines.topic(event)
        event[:exists] ? @logger.info { line } : @logger.warn { line }
      end

      def on_multiplexing_up(event)
        @logger.info { "#{Lines.group(event)}: one more connection, #{event[:connections]} in all" }
      end

      def on_multiplexing_down(event)
        @logger.info { "#{Lines.group(event)}: a connection without partitions is closed, #{event[:connections]} left" }
      end

      def on_connection_partition_missing(event)
        @logger.warn do
          "#{Lines.lane(event)}: named by assign, but the topic has #{Lines.count(event[:partitions], "partition")}"
        end
      end

      def on_group_no_partitions(event)
        @logger.warn do
          "group #{event[:consumer_group_id]} (#{Lines.list(event[:topics])}): no partition yet after " \
            "#{Lines.duration(event[:waited_ms])}. #{event[:reason]}"
        end
      end

      def on_group_foreign_topics(event) = @logger.warn { Lines.foreign_topics(event) }

      def on_poll_loop_slow(event)
        @logger.warn { "#{Lines.group(event)}: a turn of the poll loop took #{Lines.took(event)}, most of it #{event[:stage]}" }
      end

      def on_client_reset(event)
        @logger.warn { "#{Lines.group(event)}: the connection is re-opened" }
      end

      def on_oauthbearer_token_refresh(_event)
        @logger.debug { "a client needs an OAuth token" }
      end

      # @!group Consumer

      def on_consumer_consume(event)
        @logger.debug { "#{Lines.lane(event)}: consuming #{Lines.batch(event)}#{Lines.attempt(event)}" }
      end

      def on_consumer_consumed(event)
        @logger.info do
          "#{Lines.lane(event)}: consumed #{Lines.batch(event)} in #{Lines.took(event)}#{Lines.lag(event)}#{Lines.attempt(event)}"
        end
      end

      def on_consumer_revoked(event)
        @logger.info { "#{Lines.lane(event)}: the hook revoked ran in #{Lines.took(event)}" }
      end

      def on_consumer_shutdown(event)
        @logger.info { "#{Lines.lane(event)}: the hook shutdown ran in #{Lines.took(event)}" }
      end

      def on_consumer_eofed(event)
        @logger.debug { "#{Lines.lane(event)}: the hook eofed ran in #{Lines.took(event)}" }
      end

      def on_consumer_ticked(event)
        @logger.debug { "#{Lines.lane(event)}: the hook tick ran in #{Lines.took(event)}" }
      end

      def on_consumer_consuming_pause(event)
        for_how_long = event[:timeout] ? "for #{Lines.duration(event[:timeout])}" : "until it is resumed"
        who = event[:manual] ? "by the consumer" : "before a retry"
        @logger.info { "#{Lines.lane(event)}: paused #{who} at offset #{event[:offset]} #{for_how_long}" }
      end

      def on_consumer_consuming_retry(event)
        @logger.info do
          "#{Lines.lane(event)}: offset #{event[:offset]} is tried again (attempt #{event[:attempt]})"
        end
      end

      def on_consumer_consuming_seek(event)
        @logger.info { "#{Lines.lane(event)}: the consumer seeks to #{Lines.target(event[:message])}" }
      end

      def on_filtering_throttled(event)
        @logger.info do
          "#{Lines.lane(event)}: waits at offset #{event[:offset]} for #{Lines.duration(event[:timeout])}#{Lines.reason(event)}"
        end
      end

      def on_filtering_seek(event) = @logger.info { "#{Lines.lane(event)}: a filter seeks to offset #{event[:offset]}" }

      def on_consumer_redelivery(event) = @logger.info { Lines.redelivery(event) }

      def on_filtering_dropped(event)
        @logger.debug do
          "#{Lines.lane(event)}: not consumed: #{Lines.count(event[:count], "message")} (#{Lines.offsets(event)})" \
            "#{Lines.reason(event)}"
        end
      end

      def on_consumer_offset_reset(event)
        @logger.warn { Lines.offset_reset(event) }
      end

      def on_consumer_discontinuity(event)
        @logger.warn do
          "#{Lines.lane(event)}: a take began at offset #{event[:actual]} instead of #{event[:expected]}; seeking back"
        end
      end

      def on_consumer_unfinished(event)
        @logger.warn do
          "#{Lines.lane(event)}: each was left at offset #{event[:stopped_at]} without an error; the whole batch " \
            "(#{Lines.offsets(event)}) counts as consumed. For early exits use manual_offset_management"
        end
      end

      def on_consumer_long_running(event)
        @logger.warn do
          "#{Lines.lane(event)}: a job on #{Lines.offsets(event)} has been running for #{Lines.duration(event[:waited_ms])}"
        end
      end

      def on_consumer_time_limit(event)
        @logger.error do
          "#{Lines.lane(event)}: a job on #{Lines.offsets(event)} takes longer than its time_limit of " \
            "#{Lines.duration(event[:limit])} and is ended. Backtrace:\n#{Array(event[:backtrace]).join("\n")}"
        end
      end

      def on_partition_starved(event)
        @logger.warn do
          "#{Lines.lane(event)}: its records have waited #{Lines.duration(event[:waited_ms])} for a worker"
        end
      end

      def on_partition_window_full(event)
        @logger.warn do
          "#{Lines.lane(event)}: offset #{event[:offset]} has not been marked for #{Lines.duration(event[:waited_ms])} " \
            "although its job has ended; the partition is blocked until it is: call mark_as_consumed"
        end
      end

      def on_consumer_unmarked(event) = @logger.warn { Lines.unmarked(event) }

      # @!group Where user code runs

      def on_fibers_blocked(event)
        @logger.warn do
          "#{Lines.lane(event)}: blocks #{event[:thread]} for #{Lines.duration(event[:waited_ms])}: no other fiber of the " \
            "thread can run. Backtrace:\n#{Array(event[:backtrace]).join("\n")}"
        end
      end

      def on_process_pool_child_started(event)
        @logger.debug { "process #{event[:pid]} of the pool was forked" }
      end

      def on_process_pool_child_died(event)
        @logger.error { "process #{event[:pid]} of the pool #{event[:reason]}; another one replaces it" }
      end

      # @!group Records that fail

      def on_dead_letter_queue_dispatched(event)
        @logger.warn { "#{Lines.record(event)} was dead-lettered to #{Lines.letter(event)}: #{Lines.failure(event)}" }
      end

      def on_retry_topic_dispatched(event)
        @logger.info { "#{Lines.record(event)} was sent to the retry topic #{event[:to]}: #{Lines.failure(event)}" }
      end

      def on_consumer_skipped(event)
        @logger.warn { "#{Lines.record(event)} was skipped: #{Lines.failure(event)}" }
      end

      def on_consumer_suspected(event)
        @logger.warn do
          "#{event[:topic]}/#{event[:partition]}: the last #{Lines.count(event[:unclean], "owner")} ended without stopping " \
            "cleanly. In case a record kills the process, those from offset #{event[:offset]} on run in small groups, and " \
            "those that were in progress when it died run one at a time"
        end
      end

      def on_consumer_quarantined(event)
        @logger.error do
          "#{Lines.record(event)} isn't run again: the process died #{event[:crashes]} times while it ran only this record"
        end
      end

      # @!group Offsets

      def on_offsets_committed(event)
        @logger.debug { "#{event[:subscription_group_id]}: committed #{Lines.positions(event[:offsets])}" }
      end

      def on_offsets_commit_retried(event)
        @logger.info { "#{event[:subscription_group_id]}: the commit is retried: #{Printable.message(event[:error])}" }
      end

      def on_offsets_metadata_ignored(event)
        @logger.warn { "#{Lines.lane(event)}: the metadata at offset #{event[:offset]} is ignored: #{event[:reason]}" }
      end

      def on_offsets_metadata_reduced(event)
        @logger.warn { "#{Lines.lane(event)}: #{event[:bytes]} bytes of commit metadata are too many, committed without it" }
      end

      def on_offsets_unavailable(event)
        @logger.warn { "#{Lines.lane(event)}: #{Lines.unavailable(event)}" }
      end

      def on_offsets_reopened(event)
        @logger.warn do
          "#{Lines.lane(event)}: its ledger is discarded, it continues at the group's offset #{event[:offset]}"
        end
      end

      # @!group Rebalance

      def on_rebalance_partitions_assigned(event)
        @logger.info { "#{Lines.group(event)}: assigned #{Lines.partitions(event[:tpl])}" }
      end

      def on_rebalance_partitions_revoked(event)
        verb = event[:lost] ? "lost" : "revoked"
        @logger.info { "#{Lines.group(event)}: #{verb} #{Lines.partitions(event[:tpl])}" }
      end

      def on_rebalance_unit_left_running(event)
        @logger.warn do
          "#{Lines.lane(event)}: a job on #{Lines.offsets(event)} still runs after its partition was revoked; the next " \
            "owner runs its records again"
        end
      end

      def on_rebalance_over_budget(event)
        @logger.warn do
          "#{event[:subscription_group_id]}: #{event[:lanes]} partitions share #{event[:budget_bytes]} bytes of " \
            "prefetch; memory may grow beyond it. Start more processes or raise prefetch_budget_bytes"
        end
      end

      # @!group Producer

      def on_transaction_finished(event)
        @logger.debug { "producer #{event[:producer_id]}: a transaction in #{Lines.took(event)}" }
      end

      def on_transaction_aborted(event)
        @logger.info { "producer #{event[:producer_id]}: a transaction was aborted" }
      end

      def on_message_produced_sync(event)
        @logger.debug { "producer #{event[:producer_id]}: message to #{event[:message][:topic]} in #{Lines.took(event)}" }
        @logger.debug { event[:message].inspect } if @log_messages
      end

      alias_method :on_message_produced_async, :on_message_produced_sync

      def on_messages_produced_sync(event)
        messages = event[:messages]
        @logger.debug do
          "producer #{event[:producer_id]}: #{Lines.count(messages.size, "message")} to " \
            "#{messages.map { |message| message[:topic] }.uniq.join(", ")} in #{Lines.took(event)}"
        end
        @logger.debug { messages.inspect } if @log_messages
      end

      alias_method :on_messages_produced_async, :on_messages_produced_sync
      alias_method :on_buffer_flushed_sync, :on_messages_produced_sync
      alias_method :on_buffer_flushed_async, :on_messages_produced_sync

      def on_buffer_purged(event)
        @logger.info { "producer #{event[:producer_id]}: its buffer was discarded" }
      end

      # @!endgroup

      def on_error_occurred(event)
        line = ErrorLine.new(event)
        @logger.public_send(line.level) { line.to_s }
      end
    end
  end
end
