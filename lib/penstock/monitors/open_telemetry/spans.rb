# frozen_string_literal: true

require "opentelemetry"
require_relative "../../errors"
require_relative "names"
require_relative "propagation"

module Penstock
  module Monitors
    module OpenTelemetry
      # Starts, runs and ends spans. An error of the SDK never reaches the code that is traced: it goes to OpenTelemetry's error
      # handler, and the code runs without a span. Stateless. Any thread.
      module Spans
        Context = ::OpenTelemetry::Context
        Trace = ::OpenTelemetry::Trace
        # By identity and frozen: newer Rubies take such a Hash as it is. Object: a kill isn't an exception.
        MASKED = {Object => :never}.compare_by_identity.freeze
        OPEN = {Object => :immediate}.compare_by_identity.freeze
        FAILED = :penstock_trace_of_failed_call
        private_constant :FAILED, :MASKED, :OPEN

        class << self
          # @param tracer [::OpenTelemetry::Trace::Tracer]
          # @param name [String]
          # @param options as for `Tracer#start_span`
          # @return [::OpenTelemetry::Trace::Span, nil] nil if the SDK has failed
          def start(tracer, name, **options)
            tracer.start_span(name, **options)
          rescue => error
            handle(error)
            nil
          end

          # Runs the code in the span, which becomes the current one of the fiber, and ends it.
          # @param span [::OpenTelemetry::Trace::Span, nil] nil: the code runs without one
          # @param context [::OpenTelemetry::Context] with the span
          # @param code [#call]
          # @yieldparam error [Exception] of the code
          # @return [Object] what the code returns
          def within(span, context, code, &failed)
            return code.call unless span
            return attached(context, code, &failed) if Fiber.current_scheduler # nothing is raised in its thread
            Thread.handle_interrupt(MASKED) { attached(context, -> { Thread.handle_interrupt(OPEN) { code.call } }, &failed) }
          ensure
            finish(span) if span
          end

          # @param parent [::OpenTelemetry::Context]
          # @return [::OpenTelemetry::Context] with the span, if there is one
          def context(span, parent) = span ? Trace.context_with_span(span, parent_context: parent) : parent

          # @param span [::OpenTelemetry::Trace::Span]
          # @param error [Exception] recorded as an event; an interrupt isn't an error of the code
          # @param attributes [Hash] of the event
          def record(span, error, attributes = nil)
            return unless span.recording?
            unless error.is_a?(Interrupted)
              span.set_attribute(Names::ERROR_TYPE, type_of(error))
              span.status = Trace::Status.error(error.class.to_s)
            end
            span.record_exception(error, attributes: attributes)
          rescue => another
            handle(another)
          end

          # @param span [::OpenTelemetry::Trace::Span]
          def finish(span)
            span.finish
          rescue => error
            handle(error)
          end

          # The span of the last call of `consume` in this fiber, if it has failed: what is sent instead of its record is prepared
          # in the same fiber, after the span has ended.
          # @return [::OpenTelemetry::Context, nil]
          def failed_call = Thread.current[FAILED]

          # @param context [::OpenTelemetry::Context, nil]
          def failed_call=(context)
            Thread.current[FAILED] = context
          end

          private

          # An interrupt from outside (a stop, a time limit) reaches the code, but not what is around it, or the thread would
          # keep a span that has ended. It may reach the SDK, which starts a thread in a forked process: that would inherit the
          # mask, and never end.
          def attached(context, code)
            token = Context.attach(context)
            code.call
          rescue Exception => error # rubocop:disable Lint/RescueException -- it is raised again
            yield error
            raise
          ensure
            Context.detach(token) if token
          end

          # Kafka's errors by their code, others by their class.
          def type_of(error)
            code = error.code if error.is_a?(ProduceError) || error.is_a?(KafkaError)
            (code || error.class.name || "_OTHER").to_s
          end

          def handle(error) = ::OpenTelemetry.handle_error(exception: error, message: "penstock: a span")
        end
      end
    end
  end
end
