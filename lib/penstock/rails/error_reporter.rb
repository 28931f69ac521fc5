# frozen_string_literal: true

module Penstock
  module OnRails
    # Reports errors to `Rails.error`, with the place where they occurred: those of a record's first attempt and the one after
    # which it isn't retried, or all (`config.penstock.report = :each`). Rails marks an error that was reported: it isn't reported
    # again, also by a job that has reported it itself.
    #
    # A listener, called on the thread that publishes. It remembers the records whose strategy is about to be asked whether they
    # are tried again: their error is reported when it has answered that they aren't.
    class ErrorReporter
      SOURCE = "application.penstock"
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

      # @param errors [#report] `Rails.error`
      # @param settings [Settings]
      def initialize(errors, settings)
        @errors = errors
        @settings = settings
        @lock = Mutex.new
        @undecided = {}
      end

      def on_error_occurred(event)
        return if OMITTED.match?(event[:type])
        return report(event) if reported?(event)
        remember(event) if event[:next] == :strategy
      end

      def on_dead_letter_queue_dispatched(event)
        report(event) if forget(event)
      end

      def on_consumer_skipped(event)
        report(event) if forget(event)
      end

      private

      def reported?(event)
        attempt = event[:attempt]
        @settings.report == :each || attempt.nil? || attempt == 1 || GIVEN_UP.include?(event[:next])
      end

      def remember(event)
        @lock.synchronize do
          @undecided.shift if @undecided.size >= MOST
          @undecided[event.payload.values_at(*PLACE)] = true
        end
      end

      def forget(event) = @lock.synchronize { @undecided.delete(event.payload.values_at(*PLACE)) }

      def report(event)
        context = event.payload.slice(*CONTEXT)
        consumer = event[:caller]
        context[:consumer] = consumer.class.name if consumer.class.method_defined?(:consume)
        @errors.report(event[:error], handled: false, source: SOURCE, context: context)
      end
    end
  end
end
