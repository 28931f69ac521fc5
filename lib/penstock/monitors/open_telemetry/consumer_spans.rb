# frozen_string_literal: true

require_relative "message_spans"
require_relative "names"
require_relative "origins"
require_relative "propagation"
require_relative "spans"

module Penstock
  module Monitors
    module OpenTelemetry
      # Middleware that runs each call of `consume` in a span, which links to the spans that produced its records. It runs where
      # user code does: on threads, in fibers and in processes of a pool. Stateless.
      class ConsumerSpans
        # @return [Options]
        attr_reader :options

        # @param tracer [::OpenTelemetry::Trace::Tracer]
        # @param options [Options]
        def initialize(tracer, options)
          @tracer = tracer
          @options = options
        end

        # @see Execution::Middleware#use
        def call(consumer, action, &code)
          return yield unless action == :consume
          trace(consumer, consumer.messages, code)
        end

        private

        def trace(consumer, messages, code)
          Spans.failed_call = nil
          origins = Origins.new(messages.size) { |index| messages.headers_at(index) }
          parent = (origins.first if messages.size == 1 && @options.child?) || ::OpenTelemetry::Context.current
          span = start(consumer, messages, origins, parent)
          context = Spans.context(span, parent)
          messages.around = MessageSpans.new(@tracer, messages, context) if @options.per_message? && messages.size > 1
          Spans.within(span, context, code) { |error| failed(span, context, messages, error) }
        ensure
          messages.around = nil if messages.around
        end

        def failed(span, context, messages, error)
          Spans.failed_call = context
          offset = messages.blamed_offset
          Spans.record(span, error, offset && {Names::OFFSET => offset})
        end

        def start(consumer, messages, origins, parent)
          topic = messages.batch.topic
          Spans.start(@tracer, "process #{topic}", kind: :consumer, with_parent: parent, links: links(origins, parent),
            attributes: attributes(consumer, messages, topic))
        end

        # A span that was current already, of middleware outside of this, isn't lost where a producer's becomes the parent.
        def links(origins, parent)
          current = ::OpenTelemetry::Context.current
          return origins.links if parent.equal?(current) || !Propagation.span_context(current).valid?
          origins.links.concat(Propagation.links([current]))
        end

        def attributes(consumer, messages, topic)
          place = {Names::DESTINATION => topic, Names::PARTITION => consumer.partition.to_s}
          run = {Names::GROUP => consumer.topic.consumer_group_id, Names::ATTEMPT => consumer.attempt}
          {**Names::PROCESSING, **place, **run, **offsets(messages)}
        end

        def offsets(messages)
          return {Names::OFFSET => messages.first_offset} if messages.size == 1
          {Names::COUNT => messages.size, Names::FIRST_OFFSET => messages.first_offset,
           Names::LAST_OFFSET => messages.last_offset}
        end
      end
    end
  end
end
