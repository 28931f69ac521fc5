# frozen_string_literal: true

require_relative "../errors"
require_relative "../printable"
require_relative "client_trouble"
require_relative "repeats"

module Penstock
  module Instrumentation
    # Decides what of a client's errors and log lines is told, and how often: one outage is one line, repeated every 30 s as long
    # as it lasts. One object a client; used by the thread that reads its events.
    #
    # The library says the same thing up to three times: as a log line (`FAIL`), as an error, and as "all brokers are down". The
    # error is told. What comes as a log line only (a broker that hangs up at the greeting) is told with "all brokers are down".
    class ClientErrors
      # Errors that mean nothing but "going on".
      QUIET = %i[partition_eof].freeze
      ALL_DOWN = :all_brokers_down
      # The library says it again after `reconnect.backoff.max.ms`, 10 s by default.
      LASTING_MS = 60_000
      private_constant :QUIET, :ALL_DOWN, :LASTING_MS

      # An error to be told, and how often it came since it was told last.
      Told = Struct.new(:error, :count)

      def initialize
        @repeats = Repeats.new
        @lines = Repeats.new
        @failure = nil
        @down_at = nil
      end

      # @return [Integer, nil] monotonic ms of the last error that was told
      def told_at = @repeats.told_at

      # @return [ClientTrouble, nil] the last failed connection, told or not
      def suspicion = @failure && ClientTrouble.new(@failure)

      # @param error [KafkaError]
      # @param now [Integer] monotonic ms
      # @return [Told, nil] nil: nothing new
      def tell(error, now)
        return if QUIET.include?(error.code)
        error = all_down(error, now) or return if error.code == ALL_DOWN
        count = @repeats.tell(kind(error), now)
        Told.new(error, count) if count
      end

      # @param level [Integer] syslog's
      # @return [Integer, nil] the level it is worth; nil: it was written lately
      def line(level, facility, message, now)
        message = Printable.utf8(message) # a broker's words may be in it
        @failure = message.sub(/\A\[thrd:[^\]]*\]: /, "") if facility == "FAIL"
        return unless @lines.tell([facility, message.gsub(/\d+ ?ms|\d+ identical/, "")], now)
        quiet?(facility, message) ? 7 : level
      end

      private

      # A failed connection is told as an error. A producer id that a coordinator can't give yet is asked for again: on a new
      # cluster this is the first thing an idempotent producer hears.
      def quiet?(facility, message)
        facility == "FAIL" || (facility == "GETPID" && message.match?(/Coordinator (?:load in progress|not available): retrying/))
      end

      def kind(error) = ClientTrouble.of(error)&.step || [error.code, error.broker_message.to_s.gsub(/\d+/, "")]

      # Says something where nobody else did: not after another error about the same outage, and not when a broker was just
      # stopped, as the next attempt to reach it then tells why.
      def all_down(error, now)
        before, @down_at = @down_at, now
        return if @repeats.fresh?(now)
        trouble = suspicion or return error
        return if trouble.vague? && (before.nil? || now - before > LASTING_MS)
        KafkaError.build(number: error.number, name: error.code, message: @failure)
      end
    end
  end
end
