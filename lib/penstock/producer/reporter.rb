# frozen_string_literal: true

require "json"
require_relative "../clock"
require_relative "../deadline"
require_relative "../errors"
require_relative "../instrumentation/error_throttle"
require_relative "../instrumentation/event"
require_relative "../instrumentation/safe_logger"
require_relative "../instrumentation/statistics"
require_relative "../instrumentation/token_provider"
require_relative "../native/bearer"
require_relative "../native/producer"
require_relative "delivery/report"
require_relative "dry_client"

module Penstock
  class Producer
    # Emits the client's reports as events: deliveries, errors, statistics, requests for tokens, log lines.
    #
    # Belongs to an {OpenClient}. Owns one Ruby thread, which sleeps until the client has something to report: without listeners
    # that is log lines only. The thread takes reports from the driver in batches and emits them;
    # it ends when the client is closed and everything was emitted. Listeners run on
    # it, so a slow one delays the next event, and, when 100,000 deliveries are waiting, producing. A listener may produce, and
    # may close the producer. So never join the thread without a limit, or while holding a lock that one of those calls takes:
    # that can deadlock. If a listener ends the thread, the next call of the producer starts another, which continues where it
    # ended.
    class Reporter
      BATCH = 256
      STATISTICS = "statistics.emitted"

      # The reports that the driver has to keep while an event has a listener.
      WANTS = {
        "message.acknowledged" => Native::Producer::WANT_DELIVERED,
        "message.purged" => Native::Producer::WANT_FAILED,
        "error.occurred" => Native::Producer::WANT_FAILED | Native::Producer::WANT_ERRORS,
        STATISTICS => Native::Producer::WANT_STATISTICS
      }.freeze

      ENDED = "the thread that calls its listeners was ended by one of them, and another thread has taken over. Listeners must " \
        "not end the thread they are called on"
      private_constant :ENDED

      # Least time for listeners to receive the last deliveries when a client is closed, in ms. They receive late ones too.
      LISTENERS_MS = 1_000

      PURGED = %i[purge_queue purge_inflight].freeze

      # Severities of syslog, as librdkafka numbers them.
      LOG_METHODS = %i[fatal fatal fatal error warn info info debug].freeze

      # @param client [Native::Producer, DryClient]
      # @param settings [Settings]
      def initialize(client, settings)
        @client = client
        @monitor = settings.monitor
        @logger = Instrumentation::SafeLogger.of(settings.logger)
        @id = settings.id
        @transactional = !settings.kafka[:"transactional.id"].nil?
        @token_provider = token_provider(settings.oauth.token_provider_listener)
        @client_errors = Instrumentation::ErrorThrottle.new
        @statistics = Instrumentation::Statistics.new
        @lock = Mutex.new
        @wants = 0
        @reports = []
        @broken = @raised = @emitting_end = false
        refresh
      end

      # Fast, since it is called for every message.
      #
      # @return [Boolean] whether listeners have changed since the last {#refresh}, or its thread was ended
      def stale?
        @broken || @acknowledged != @monitor.subscribed?("message.acknowledged") ||
          @errors != @monitor.subscribed?("error.occurred")
      end

      # Looks up which events have listeners now, and starts the thread when it is needed for the first time. It is {#stale?}
      # until the client knows: otherwise other threads would already produce, and no report of their messages would be kept.
      #
      # @return [void]
      def refresh
        @lock.synchronize do
          acknowledged, errors = @monitor.subscribed?("message.acknowledged"), @monitor.subscribed?("error.occurred")
          request_reports
          @acknowledged, @errors = acknowledged, errors
        end
      end

      # @param limit_ms [Integer, nil] nil waits without a limit
      # @return [void] once everything was emitted; at once when called by a listener
      def join(limit_ms = nil)
        return if @thread.nil? || Thread.current.equal?(@thread)

        deadline = limit_ms ? Deadline.in(limit_ms) : Deadline.never
        loop do
          @thread.join(limit_ms && (deadline.remaining_ms / 1_000.0))
          break if !@broken || @raised || deadline.expired?

          @lock.synchronize { succeed if @broken } # a listener has ended it
        end
      end

      # @return [Thread, nil]
      attr_reader :thread

      private

      def wanted
        return 0 if @client.is_a?(DryClient) # it has nothing to report
        mask = @client.is_a?(Native::Producer) ? Native::Producer::WANT_LOGS : 0 # nothing else logs
        mask |= Native::Producer::WANT_TOKENS if @token_provider
        WANTS.reduce(mask) { |bits, (name, wants)| @monitor.subscribed?(name) ? bits | wants : bits }
      end

      def request_reports
        wants = wanted
        return if wants == @wants && !@broken

        @client.want(@wants = wants)
        succeed if @thread.nil? || @broken
      end

      def token_provider(listener)
        Instrumentation::TokenProvider.new(listener, @monitor, {producer_id: @id}) if listener
      end

      # Must be called with the lock held.
      def succeed
        again, @broken = @broken, false
        @thread = start(again)
      end

      def start(again)
        Thread.new { lead(again) }.tap do |thread|
          thread.name = "penstock.reporter"
          thread.report_on_exception = true
        end
      end

      # @param again [Boolean] whether a listener has ended the previous thread
      def lead(again)
        emit_end if again
        @raised = false
        run
        over = true
      rescue Exception # rubocop:disable Lint/RescueException -- re-raised; a client's error mustn't start threads again and again
        @raised = true
        raise
      ensure
        @broken = !over
      end

      # The monitor rescues listeners' exceptions; any other exception is a bug in Penstock and should be visible.
      def run
        loop do
          break unless @reports.any? || @client.wait_for_reports(nil)

          emit_reports
          emit_events
        end
      end

      # Not again if this event is what ended the thread: a listener may end every thread on which it gets an error.
      def emit_end
        return @emitting_end = false if @emitting_end

        @emitting_end = true
        emit_trouble(ENDED)
        @emitting_end = false
      end

      def emit_trouble(text)
        @monitor.instrument("error.occurred", type: "producer.reporter.error", error: ThreadError.new("producer #{@id}: #{text}"),
          producer_id: @id)
      end

      # Emits every report that was taken, including those that an earlier thread has taken.
      def emit_reports
        while (row = @reports.shift || (@reports = @client.take_reports(BATCH)).shift)
          emit_report(row)
        end
      end

      def emit_report(row)
        report = Delivery::Report.new(row)
        payload = {producer_id: @id, topic: report.topic, partition: report.partition, offset: report.offset,
                   delivery_report: report, label: report.label}
        report.error ? emit_failure(report.error, payload) : @monitor.instrument("message.acknowledged", payload)
      end

      # Discarded messages of an aborted transaction aren't an error.
      def emit_failure(error, payload)
        purged = PURGED.include?(error.code)
        @monitor.instrument("message.purged", error: error, **payload) if purged
        return if purged && @transactional

        @monitor.instrument("error.occurred", type: "librdkafka.dispatch_error", error: error, **payload)
      end

      def emit_events
        while (event = @client.poll_event)
          kind, *details = event
          send(:"emit_#{kind}", *details)
        end
      end

      def emit_error(number, name, message, fatal)
        error = KafkaError.build(number: number, name: name, message: message, fatal: fatal)
        worth = @client_errors.count(error, Clock::SYSTEM.monotonic_ms) or return
        @monitor.instrument("error.occurred", type: "librdkafka.error", error: worth.error, producer_id: @id,
          repeated: worth.count)
      end

      def emit_forgotten(count)
        emit_trouble("#{count} errors of the client, the oldest, were dropped, because the thread that calls the " \
          "listeners was ended, or blocked by one of them")
      end

      def emit_stats(json)
        @monitor.instrument(STATISTICS, producer_id: @id, statistics: @statistics.call(json))
      rescue JSON::ParserError => error
        @monitor.instrument("error.occurred", type: "callbacks.statistics.error", error: error, producer_id: @id)
      end

      def emit_token_refresh(_config)
        bearer = Native::Bearer.new(@client)
        event = Instrumentation::Event.new("oauthbearer.token_refresh", bearer: bearer, caller: self)
        @token_provider.on_oauthbearer_token_refresh(event)
      end

      def emit_log(level, facility, text)
        now = Clock::SYSTEM.monotonic_ms
        worth = @client_errors.line(level, facility, text, now, errors_reported: @errors) or return
        @logger.public_send(LOG_METHODS.fetch(worth, :info), "[#{@id}] librdkafka #{facility}: #{text}")
      end
    end
  end
end
