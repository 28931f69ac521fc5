# frozen_string_literal: true

module Penstock
  module OnRails
    # Reports errors to `Rails.error`, with the place where they occurred: those of a record's first attempt and the one after
    # which it isn't retried, or all (`config.penstock.report = :each`). Rails marks an error that was reported: it isn't reported
    # again, also by a job that has reported it itself.
    #
    # A listener, called on the thread that publishes; stateless.
    class ErrorReporter
      SOURCE = "application.penstock"
      # Errors that a caller receives as an exception, or that clients and poll loops get over by themselves.
      OMITTED = /\A(?:librdkafka\.error|connection\.client\.|lag_compensation\.|offsets\.commit\.|callbacks\.statistics\.|
        messages?\.produce_|transaction\.)/x
      # Values of `next` in docs/events.md after the last attempt.
      GIVEN_UP = %i[dead_letter skip stop].freeze
      CONTEXT = %i[type topic partition offset first_offset last_offset attempt].freeze
      private_constant :OMITTED, :GIVEN_UP, :CONTEXT

      # @param errors [#report] `Rails.error`
      # @param settings [Settings]
      def initialize(errors, settings)
        @errors = errors
        @settings = settings
      end

      def on_error_occurred(event)
        return if OMITTED.match?(event[:type]) || !reported?(event)
        report(event)
      end

      # A strategy has decided it: when the attempt failed, it wasn't known yet.
      def on_dead_letter_queue_dispatched(event) = report(event)

      def on_consumer_skipped(event) = report(event)

      private

      def reported?(event)
        attempt = event[:attempt]
        @settings.report == :each || attempt.nil? || attempt == 1 || GIVEN_UP.include?(event[:next])
      end

      def report(event)
        context = event.payload.slice(*CONTEXT)
        consumer = event[:caller]
        context[:consumer] = consumer.class.name if consumer.is_a?(BaseConsumer)
        @errors.report(event[:error], handled: false, source: SOURCE, context: context)
      end
    end
  end
end
