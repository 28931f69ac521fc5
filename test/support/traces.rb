# frozen_string_literal: true

require "opentelemetry/sdk"
require "penstock/monitors/open_telemetry"

module Penstock
  module TestSupport
    # OpenTelemetry with an exporter that keeps spans in memory, for the time of a test. Included by classes of tests.
    module Traces
      OTel = ::OpenTelemetry
      # Keys of attributes, without the system's and the operation's names, that tests compare with.
      PLAIN = %w[messaging.system messaging.operation.name messaging.operation.type].freeze

      def setup
        super
        @before = [OTel.tracer_provider, OTel.propagation, OTel.error_handler, OTel.logger]
        OTel.logger = Logger.new(nil)
        @exporter = OTel::SDK::Trace::Export::InMemorySpanExporter.new
        OTel.tracer_provider = provider(@exporter)
        OTel.propagation = OTel::Context::Propagation::CompositeTextMapPropagator.compose_propagators(
          [OTel::Trace::Propagation::TraceContext.text_map_propagator, OTel::Baggage::Propagation.text_map_propagator]
        )
        @trace_errors = trace_errors = Queue.new
        OTel.error_handler = ->(exception: nil, message: nil) { trace_errors << [message, exception] }
      end

      def teardown
        assert_equal OTel::Context::ROOT, OTel::Context.current, "the test's thread keeps a span"
        OTel.tracer_provider, OTel.propagation, OTel.error_handler, OTel.logger = @before
        super
      end

      def provider(exporter)
        OTel::SDK::Trace::TracerProvider.new.tap do |provider|
          provider.add_span_processor(OTel::SDK::Trace::Export::SimpleSpanProcessor.new(exporter))
        end
      end

      def tracer = OTel.tracer_provider.tracer("test")

      # @return [Array<SpanData>] those that have ended
      def spans = @exporter.finished_spans

      # @return [Array<SpanData>]
      def spans_named(name) = spans.select { |span| span.name == name }

      # @return [SpanData] the only one with this name
      def span(name)
        found = spans_named(name)
        assert_equal 1, found.size, "spans #{name}, of #{spans.map(&:name)}"
        found.first
      end

      def within_span(name, &) = tracer.in_span(name, &)

      # @return [String] as the header traceparent names the span
      def traceparent(span) = "00-#{span.hex_trace_id}-#{span.hex_span_id}-01"

      # @return [Hash{String => Object}] attributes without those that all spans have
      def attributes(span) = span.attributes.except(*PLAIN)

      # @return [Array<String>] ids of the spans it links to
      def linked(span) = span.links.to_a.map { |link| link.span_context.hex_span_id }

      def assert_child(parent, child)
        assert_equal [parent.hex_trace_id, parent.hex_span_id], [child.hex_trace_id, child.hex_parent_span_id], child.name
      end

      def assert_root(span)
        assert_equal OTel::Trace::INVALID_SPAN_ID, span.parent_span_id, span.name
      end
    end
  end
end
