# frozen_string_literal: true

require_relative "names"
require_relative "propagation"
require_relative "spans"

module Penstock
  module Monitors
    module OpenTelemetry
      # A span for each record that was sent on to a retry topic or to the dead letters, in the trace of the span that produced
      # it, whose context the record keeps. It has no duration: the poll loop sends these messages, and learns later that they
      # were stored.
      #
      # Listens to events, on the thread that publishes.
      class LetterSpans
        # @param tracer [::OpenTelemetry::Trace::Tracer]
        def initialize(tracer)
          @tracer = tracer
        end

        # @param event [Instrumentation::Event]
        # @return [void]
        def on_dead_letter_queue_dispatched(event) = record(event)

        # @param event [Instrumentation::Event]
        # @return [void]
        def on_retry_topic_dispatched(event) = record(event)

        private

        # Inside of a call of `consume`, user code has sent it with its producer, which has a span for it.
        def record(event)
          return if Propagation.span_context(::OpenTelemetry::Context.current).valid?
          origin = Propagation.read(event[:message].raw_headers)
          attributes = {**Names::SENDING, Names::DESTINATION => event[:to], Names::SOURCE_TOPIC => event[:topic],
                                          Names::ATTEMPT => event[:attempt]}
          span = Spans.start(@tracer, "send #{event[:to]}", kind: :producer, with_parent: origin || Propagation::ROOT,
            links: origin && Propagation.links([origin]), attributes: attributes)
          Spans.finish(span) if span
        end
      end
    end
  end
end
