# frozen_string_literal: true

require_relative "../errors"
require_relative "../nearest"
require_relative "error_tracker/services"

module Penstock
  module Monitors
    # Reports errors to Sentry, Honeybadger, Bugsnag, AppSignal, or to a callable: those of a record's first attempt and of the
    # one after which it isn't retried, or all, and those of hooks, listeners, poll loops and of the process.
    #
    #     require "penstock/monitors/error_tracker"
    #     PenstockApp.monitor.subscribe(Penstock::Monitors::ErrorTracker.new(:sentry))
    #
    # Errors that a caller receives as an exception (a message that isn't delivered), and those that clients get over by
    # themselves, aren't reported. The context names the place, never a payload or a key: `type`, `topic`, `partition`, `offset`
    # or `first_offset` and `last_offset`, `attempt`, `consumer`, as far as they are known. Rails applications don't need it if
    # their error tracker listens to `Rails.error`.
    #
    # A listener, called on the thread that publishes. It remembers the records whose strategy is about to be asked whether they
    # are tried again: their error is reported when it has answered that they aren't.
    class ErrorTracker
      REPORTS = %i[first_and_last each].freeze
      # Errors that a caller receives as an exception, or that clients and poll loops get over by themselves.
      OMITTED = /\A(?:librdkafka\.error|connection\.client\.|lag_compensation\.|offsets\.commit\.|callbacks\.statistics\.|
        messages?\.produce_|transaction\.)/x
      # Values of `next` in docs/events.md after the last attempt.
      GIVEN_UP = %i[dead_letter skip stop].freeze
      CONTEXT = %i[type topic partition offset first_offset last_offset attempt].freeze
      # Of a record.
      PLACE = %i[topic partition offset].freeze
      # Records that are remembered; those of a lost partition are never asked about.
      MOST = 1_000
      private_constant :OMITTED, :GIVEN_UP, :CONTEXT, :PLACE, :MOST

      # @param service [Symbol, #call] `:sentry`, `:honeybadger`, `:bugsnag` or `:appsignal`, whose gem must be installed and
      #   is set up as its documentation describes; or a callable that gets the error and its context, a Hash with Symbols as keys
      # @param report [Symbol] which errors of a record are reported: `:first_and_last` or `:each` (of every attempt)
      # @raise [ConfigurationError] if there is no such service, or its gem is missing
      def initialize(service, report: :first_and_last)
        problems = [service_problem(service), report_problem(report)].compact
        raise ConfigurationError.new(problems) if problems.any?

        @service = service.is_a?(Symbol) ? Services.load(service) : service
        @each = report == :each
        @lock = Mutex.new
        @undecided = {}
      end

      # @param event [Instrumentation::Event]
      # @return [void]
      def on_error_occurred(event)
        return if OMITTED.match?(event[:type])
        return deliver(event) if reported?(event)
        remember(event) if event[:next] == :strategy
      end

      # @param event [Instrumentation::Event]
      # @return [void]
      def on_dead_letter_queue_dispatched(event)
        deliver(event) if forget(event)
      end

      # @param event [Instrumentation::Event]
      # @return [void]
      def on_consumer_skipped(event)
        deliver(event) if forget(event)
      end

      private

      def service_problem(service)
        return if service.respond_to?(:call) || Services::LIST.key?(service)
        Problem.new("ErrorTracker", "there is no error tracker #{service.inspect[0, 80]}",
          Nearest.hint(service.to_s, Services::LIST.keys) ||
            "Pass #{Services::LIST.keys.map(&:inspect).join(", ")}, or a callable that gets the error and its context")
      end

      def report_problem(report)
        return if REPORTS.include?(report)
        Problem.new("ErrorTracker report", "must be :first_and_last or :each, is #{report.inspect[0, 80]}")
      end

      def each? = @each

      def reported?(event)
        attempt = event[:attempt]
        each? || attempt.nil? || attempt == 1 || GIVEN_UP.include?(event[:next])
      end

      def remember(event)
        @lock.synchronize do
          @undecided.shift if @undecided.size >= MOST
          @undecided[event.payload.values_at(*PLACE)] = true
        end
      end

      def forget(event) = @lock.synchronize { @undecided.delete(event.payload.values_at(*PLACE)) }

      def deliver(event)
        context = event.payload.slice(*CONTEXT)
        consumer = event[:caller]
        context[:consumer] = consumer.class.name if consumer.class.method_defined?(:consume)
        @service.call(event[:error], context)
      end
    end
  end
end
