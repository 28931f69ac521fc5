# frozen_string_literal: true

require_relative "propagation"

module Penstock
  module Monitors
    module OpenTelemetry
      # For jobs that opentelemetry-instrumentation-active_job traces, too: it keeps the context of the enqueueing span in the
      # data of a job. Where that is the trace of the call that performs the job, the call's span replaces it, so that the span of
      # the job is below the one of the call.
      #
      # Listens to an event, on the thread that performs the job. In a process of a pool, whose events are published elsewhere, it
      # changes nothing.
      class JobContext
        # Where the gem keeps it: a list of names and values.
        KEY = "__otel_headers"
        private_constant :KEY

        # @param event [Instrumentation::Event]
        # @return [void]
        def on_active_job_consume(event)
          data = event[:job]
          pairs = data[KEY]
          return unless pairs.is_a?(Array) && pairs.any? && pairs.all? { |pair| pair.is_a?(Array) && pair.size == 2 }
          current = ::OpenTelemetry::Context.current
          data[KEY] = Propagation.headers(current).to_a if same_trace?(Propagation.read(pairs.to_h), current)
        end

        private

        def same_trace?(theirs, current)
          ours = Propagation.span_context(current)
          !theirs.nil? && ours.valid? && Propagation.span_context(theirs).trace_id == ours.trace_id
        end
      end
    end
  end
end
