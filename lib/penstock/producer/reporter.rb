# frozen_string_literal: true

require "json"
require_relative "../clock"
require_relative "../errors"
require_relative "../instrumentation/client_errors"
require_relative "../instrumentation/event"
require_relative "../instrumentation/statistics"
require_relative "../instrumentation/token_provider"
require_relative "../native/bearer"
require_relative "../native/producer"
require_relative "delivery/report"

module Penstock
  class Producer
    # Tells listeners what the client reports: deliveries, errors, statistics, requests for tokens, log lines.
    #
    # Owns one Ruby thread, started when the first listener is there to hear it. It takes reports from the driver in
    # batches and publishes them; it ends when the client is closed and everything was told. Listeners run on it, so a slow
    # one holds back the next event, and when 100,000 deliveries wait, producing. A listener may produce, and may close the
    # producer: whoever joins the thread without a limit, or with a lock held that one of those calls takes, waits for ever.
    class Reporter
      BATCH = 256
      STATISTICS = "statistics.emitted"

      # What the driver is asked to keep while somebody listens to an event.
      WANTS = {
        "message.acknowledged" => Native::Producer::WANT_DELIVERED,
        "message.purged" => Native::Producer::WANT_FAILED,
        "error.occurred" => Native::Producer::WANT_FAILED | Native::Producer::WANT_ERRORS,
        STATISTICS => Native::Producer::WANT_STATISTICS
      }.freeze

      PURGED = %i[purge_queue purge_inflight].freeze

      # Severities of syslog, as librdkafka numbers them.
      LOG_METHODS = %i[fatal fatal fatal error warn info info debug].freeze

      # @param client [Native::Producer, DryClient]
      # @param settings [Settings]
      def initialize(client, settings)
        @client = client
        @monitor = settings.monitor
        @logger = settings.logger
        @id = settings.id
        @transactional = !settings.kafka[:"transactional.id"].nil?
        @token_provider = token_provider(settings.oauth.token_provider_listener)
        @client_errors = Instrumentation::ClientErrors.new
        @statistics = Instrumentation::Statistics.new
        @lock = Mutex.new
        @wants = 0
        refresh
      end

      # Cheap: called for every message.
      #
      # @return [Boolean] whether somebody listens who didn't when {#refresh} was called last
      def stale?
        @acknowledged != @monitor.subscribed?("message.acknowledged") || @errors != @monitor.subscribed?("error.occurred")
      end

      # Looks at who listens now, and starts the thread when it is needed for the first time.
      #
      # @return [void]
      def refresh
        @lock.synchronize do
          @acknowledged = @monitor.subscribed?("message.acknowledged")
          @errors = @monitor.subscribed?("error.occurred")
          wants = wanted
          next if wants == @wants

          @client.want(@wants = wants)
          @thread ||= start
        end
      end

      # @param limit_ms [Integer, nil] nil waits for ever
      # @return [void] once everything was told; at once when called by a listener
      def join(limit_ms = nil)
        @thread&.join(limit_ms && (limit_ms / 1_000.0)) unless Thread.current.equal?(@thread)
      end

      # @return [Thread, nil]
      attr_reader :thread

      private

      def wanted
        mask = WANTS.reduce(0) { |bits, (name, wants)| @monitor.subscribed?(name) ? bits | wants : bits }
        mask |= Native::Producer::WANT_TOKENS if @token_provider
        mask.zero? ? 0 : mask | Native::Producer::WANT_LOGS
      end

      def token_provider(listener)
        Instrumentation::TokenProvider.new(listener, @monitor, {producer_id: @id}) if listener
      end

      def start
        Thread.new { run }.tap do |thread|
          thread.name = "penstock.reporter"
          thread.report_on_exception = true
        end
      end

      # Listeners' exceptions stay inside the monitor; what else raises is our own mistake and may be seen.
      def run
        loop do
          break unless @client.wait_for_reports(nil)

          tell_reports
          tell_events
        end
      end

      def tell_reports
        until (reports = @client.take_reports(BATCH)).empty?
          reports.each { |row| tell_report(row) }
        end
      end

      def tell_report(row)
        report = Delivery::Report.new(row)
        payload = {producer_id: @id, topic: report.topic, partition: report.partition, offset: report.offset,
                   delivery_report: report, label: report.label}
        report.error ? tell_failure(report.error, payload) : @monitor.instrument("message.acknowledged", payload)
      end

      # That messages of an aborted transaction are thrown away is no error.
      def tell_failure(error, payload)
        purged = PURGED.include?(error.code)
        @monitor.instrument("message.purged", error: error, **payload) if purged
        return if purged && @transactional

        @monitor.instrument("error.occurred", type: "librdkafka.dispatch_error", error: error, **payload)
      end

      def tell_events
        while (event = @client.poll_event)
          kind, *details = event
          send(:"tell_#{kind}", *details)
        end
      end

      def tell_error(number, name, message, fatal)
        error = KafkaError.build(number: number, name: name, message: message, fatal: fatal)
        told = @client_errors.tell(error, Clock::SYSTEM.monotonic_ms) or return
        @monitor.instrument("error.occurred", type: "librdkafka.error", error: told.error, producer_id: @id,
          repeated: told.count)
      end

      def tell_stats(json)
        @monitor.instrument(STATISTICS, producer_id: @id, statistics: @statistics.call(json))
      rescue JSON::ParserError => error
        @monitor.instrument("error.occurred", type: "callbacks.statistics.error", error: error, producer_id: @id)
      end

      def tell_token_refresh(_config)
        bearer = Native::Bearer.new(@client)
        event = Instrumentation::Event.new("oauthbearer.token_refresh", bearer: bearer, caller: self)
        @token_provider.on_oauthbearer_token_refresh(event)
      end

      def tell_log(level, facility, text)
        worth = @client_errors.line(level, facility, text, Clock::SYSTEM.monotonic_ms) or return
        @logger.public_send(LOG_METHODS.fetch(worth, :info), "[#{@id}] librdkafka #{facility}: #{text}")
      end
    end
  end
end
