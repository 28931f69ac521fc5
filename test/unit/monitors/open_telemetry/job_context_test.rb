# frozen_string_literal: true

require "test_helper"
require "penstock/instrumentation/event"
require "penstock/monitors/open_telemetry/job_context"
require "support/traces"

module Penstock
  class JobContextTest < TestCase
    include TestSupport::Traces

    # @return [Hash] the data that the job is performed with
    def performing(data)
      Monitors::OpenTelemetry::JobContext.new.on_active_job_consume(Instrumentation::Event.new("active_job.consume", {job: data}))
      data
    end

    test "in the trace of the call, the job is below the call's span" do
      within_span("publish") do |publish|
        @enqueued = "00-#{publish.context.hex_trace_id}-#{publish.context.hex_span_id}-01"
        within_span("process jobs") { @data = performing({"__otel_headers" => [["traceparent", @enqueued]]}) }
      end

      assert_equal [["traceparent", traceparent(span("process jobs"))]], @data["__otel_headers"]
      refute_equal @enqueued, traceparent(span("process jobs"))
    end

    test "the data of other jobs stays as it is" do
      other = [["traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]]
      within_span("process jobs") do
        [{}, {"__otel_headers" => []}, {"__otel_headers" => "text"}, {"__otel_headers" => [1]},
          {"__otel_headers" => other}].each do |data|
          assert_equal data, performing(data.dup)
        end
      end
      assert_equal({"__otel_headers" => other}, performing({"__otel_headers" => other}))
    end
  end
end
