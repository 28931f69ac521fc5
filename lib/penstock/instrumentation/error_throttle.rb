# frozen_string_literal: true

require_relative "../errors"
require_relative "../printable"
require_relative "connection_diagnosis"
require_relative "repeats"

module Penstock
  module Instrumentation
    # Decides which errors and log lines of a client are reported, and how often: an outage is one line, repeated every
    # 30 s while it lasts. One object per client; used by the thread that reads the client's events.
    #
    # The library reports the same failure up to three times: as a log line (`FAIL`), as an error, and as "all brokers
    # are down". The error is reported. A failure that comes only as a log line (a broker that disconnects during the
    # handshake) is reported with "all brokers are down".
    class ErrorThrottle
      # Errors that need no action: the client continues.
      QUIET = %i[partition_eof].freeze
      ALL_DOWN = :all_brokers_down
      # The library repeats it after `reconnect.backoff.max.ms`, 10 s by default.
      LASTING_MS = 60_000
      private_constant :QUIET, :ALL_DOWN, :LASTING_MS

      # An error to report, and how often it occurred since the last report.
      Report = Struct.new(:error, :count)

      def initialize
        @repeats = Repeats.new
        @lines = Repeats.new
        @failure = nil
        @down_at = nil
      end

      # @return [Integer, nil] monotonic ms of the last report
      def reported_at = @repeats.reported_at

      # @return [ConnectionDiagnosis, nil] the last failed connection, reported or not
      def diagnosis = @failure && ConnectionDiagnosis.new(@failure)

      # @param error [KafkaError]
      # @param now [Integer] monotonic ms
      # @return [Report, nil] nil: nothing to report
      def count(error, now)
        return if QUIET.include?(error.code)
        error = all_down(error, now) or return if error.code == ALL_DOWN
        count = @repeats.count(kind(error), now)
        Report.new(error, count) if count
      end

      # @param level [Integer] syslog's
      # @param errors_reported [Boolean] whether errors have a listener: without one, a failed connection has no other line
      # @return [Integer, nil] the level to log it at; nil: it was logged recently
      def line(level, facility, message, now, errors_reported: true)
        message = Printable.utf8(message) # it may contain text from a broker
        @failure = message.sub(/\A\[thrd:[^\]]*\]: /, "") if facility == "FAIL"
        return unless @lines.count([facility, message.gsub(/\d+ ?ms|\d+ identical/, "")], now)
        quiet?(facility, message, errors_reported) ? 7 : level
      end

      private

      # A failed connection is reported as an error. If a coordinator can't assign a producer id yet, the client asks
      # again: on a new cluster this is the first line an idempotent producer logs.
      def quiet?(facility, message, errors_reported)
        return errors_reported if facility == "FAIL"
        facility == "GETPID" && message.match?(/Coordinator (?:load in progress|not available): retrying/)
      end

      def kind(error) = ConnectionDiagnosis.of(error)&.step || [error.code, error.broker_message.to_s.gsub(/\d+/, "")]

      # Reports the outage if nothing else did: not after another error about the same outage, and not right after a
      # broker was stopped, because the next attempt to connect then reports the reason.
      def all_down(error, now)
        before, @down_at = @down_at, now
        return if @repeats.fresh?(now)
        trouble = diagnosis or return error
        return if trouble.vague? && (before.nil? || now - before > LASTING_MS)
        KafkaError.build(number: error.number, name: error.code, message: @failure)
      end
    end
  end
end
