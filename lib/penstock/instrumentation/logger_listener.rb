# frozen_string_literal: true

require_relative "breaker_lines"
require_relative "consumer_lines"
require_relative "failure_lines"
require_relative "lines"
require_relative "log/writer"
require_relative "offset_lines"
require_relative "outbox_lines"
require_relative "producer_lines"
require_relative "safe_logger"
require_relative "swarm_lines"
require_relative "worker_lines"

module Penstock
  module Instrumentation
    # Writes events to a logger, one readable line per event that changes something. Calls of `consume` are counted, and a busy
    # topic gets a summary every five seconds; lines that repeat are limited ({Log::Repetitions}). At level debug every event has
    # its line.
    #
    #     monitor.subscribe(Penstock::Instrumentation::LoggerListener.new(logger))
    #
    # Names, messages and errors come from outside, so every entry is made safe to print before it is logged
    # ({SafeLogger}).
    #
    # Runs on the thread that publishes, workers included. Its state is that of {Log::Writer}, and the breakers it has logged
    # recently.
    class LoggerListener
      include BreakerLines
      include ConsumerLines
      include FailureLines
      include OffsetLines
      include OutboxLines
      include ProducerLines
      include SwarmLines
      include WorkerLines

      # Shorter turns are logged at level debug: while workers compute, Ruby's lock delays the loop by up to 100 ms for each.
      SLOW_LOOP_MS = 1_000
      private_constant :SLOW_LOOP_MS

      class << self
        # Returns the logger for listeners that are created without one. The code that knows the application sets it.
        # @return [#call, nil]
        # @api private
        attr_accessor :default
      end

      # @param logger [#debug, #info, #warn, #error, #fatal, nil] a Logger or something like it; nil: the application's
      # @param log_messages [Boolean] writes the messages a producer sends, at level debug
      # @param log_polling [Boolean] accepted, without effect: Penstock's poll loops don't poll in intervals
      # @param writer [Hash{Symbol => Object}] `clock:` and `ticker:` of {Log::Writer}, for tests
      # @raise [ArgumentError] there is neither a logger nor an application
      def initialize(logger = nil, log_messages: false, log_polling: true, **writer)
        logger ||= LoggerListener.default&.call
        raise ArgumentError, "LoggerListener.new needs a logger: there is no application to take one from" unless logger
        @logger = SafeLogger.of(logger)
        @log = Log::Writer.new(@logger, **writer)
        @log_messages = log_messages
      end

      # Writes the summaries and counts that are due; a thread does so every second while there are some.
      # @return [Boolean] whether others will be
      # @api private
      def flush_due = @log.flush_due

      # @!group Application

      def on_app_initialized(event)
        @log.debug(event) { "process #{event[:server_id]}: set up" }
      end

      def on_app_running(event)
        @log.info(event) { "process #{event[:server_id]}: running (pid #{::Process.pid})" }
      end

      def on_app_quieting(event)
        @log.info(event) { "quieting: no new work is taken, running jobs finish" }
      end

      def on_app_quiet(event)
        @log.info(event) { "quiet: no job runs any more, the process stays in its groups" }
      end

      def on_app_stopping(event)
        @log.info(event) { "stopping: running jobs may finish within shutdown_timeout" }
      end

      def on_app_stopped(event)
        @log.flush
        @log.info(event) { "stopped: all groups are left" }
      end

      def on_app_terminated(event)
        @log.debug(event) { "terminated" }
      end

      def on_app_interrupting(event)
        @log.warn(event) do
          "the rest of shutdown_timeout is reserved for the last commits, interrupting #{Lines.jobs(event[:jobs])}"
        end
      end

      def on_listener_slow(event) = @log.warn(event) { Lines.slow_listener(event) }

      def on_flight_recorder_dumped(event)
        @log.warn(event) { "flight recorder (#{event[:reason]}): #{event[:path]}, for `penstock replay`" }
      end

      def on_process_notice_signal(event)
        @log.info(event) { "received SIG#{event[:signal].to_s.delete_prefix("SIG")}" }
      end

      # @!group Connection

      def on_connection_topic(event)
        line = Lines.topic(event)
        event[:exists] ? @log.info(event) { line } : @log.warn(event) { line }
      end

      def on_multiplexing_up(event)
        @log.info(event) { "#{Lines.group(event)}: one more connection, #{event[:connections]} in all" }
      end

      def on_multiplexing_down(event)
        @log.info(event) { "#{Lines.group(event)}: a connection without partitions is closed, #{event[:connections]} left" }
      end

      def on_connection_partition_missing(event)
        @log.warn(event) do
          "#{Lines.lane(event)}: named by assign, but the topic has #{Lines.count(event[:partitions], "partition")}"
        end
      end

      def on_group_no_partitions(event)
        @log.warn(event) do
          "group #{event[:consumer_group_id]} (#{Lines.list(event[:topics])}): no partition yet after " \
            "#{Lines.duration(event[:waited_ms])}: #{event[:reason]}"
        end
      end

      def on_group_foreign_topics(event) = @log.warn(event) { Lines.foreign_topics(event) }

      def on_poll_loop_slow(event)
        line = -> { "#{Lines.group(event)}: a turn of the poll loop took #{Lines.time(event)}, most of it #{event[:stage]}" }
        return @log.debug(event, &line) if event[:time] < SLOW_LOOP_MS

        @log.repeated(:warn, event, &line)
      end

      def on_client_reset(event)
        @log.warn(event) { "#{Lines.group(event)}: the connection is re-opened" }
      end

      def on_oauthbearer_token_refresh(event)
        @log.debug(event) { "a client needs an OAuth token" }
      end

      # @!group Rebalance

      def on_rebalance_partitions_assigned(event)
        @log.info(event) { "#{Lines.group(event)}: #{Lines.assigned(event)}" }
      end

      def on_rebalance_partitions_revoked(event)
        verb = event[:lost] ? "lost" : "revoked"
        @log.info(event) { "#{Lines.group(event)}: #{verb} #{Lines.partitions(event[:tpl])}" }
      end

      def on_rebalance_unit_left_running(event)
        @log.warn(event) do
          "#{Lines.lane(event)}: a job on #{Lines.offsets(event)} still runs after its partition was revoked; the next " \
            "owner runs its records again"
        end
      end

      def on_rebalance_over_budget(event)
        @log.warn(event) do
          "#{event[:subscription_group_id]}: #{event[:lanes]} partitions share #{event[:budget_bytes]} bytes of " \
            "prefetch; memory may grow beyond it. Start more processes or raise prefetch_budget_bytes"
        end
      end

      # @!group Producer

      def on_transaction_finished(event)
        @log.debug(event) { "producer #{event[:producer_id]}: a transaction in #{Lines.time(event)}" }
      end

      def on_transaction_aborted(event)
        @log.repeated(:info, event) { "producer #{event[:producer_id]}: a transaction was aborted" }
      end

      def on_message_produced_sync(event)
        @log.debug(event) { "producer #{event[:producer_id]}: message to #{event[:message][:topic]} in #{Lines.time(event)}" }
        @log.debug(event) { event[:message].inspect } if @log_messages
      end

      alias_method :on_message_produced_async, :on_message_produced_sync

      def on_messages_produced_sync(event)
        messages = event[:messages]
        @log.debug(event) do
          "producer #{event[:producer_id]}: #{Lines.count(messages.size, "message")} to " \
            "#{messages.map { |message| message[:topic] }.uniq.join(", ")} in #{Lines.time(event)}"
        end
        @log.debug(event) { messages.inspect } if @log_messages
      end

      alias_method :on_messages_produced_async, :on_messages_produced_sync
      alias_method :on_buffer_flushed_sync, :on_messages_produced_sync
      alias_method :on_buffer_flushed_async, :on_messages_produced_sync

      def on_buffer_purged(event)
        @log.info(event) { "producer #{event[:producer_id]}: its buffer was discarded" }
      end

      # @!endgroup
    end
  end
end
