# frozen_string_literal: true

require_relative "names"
require_relative "propagation"
require_relative "spans"

module Penstock
  module Monitors
    module OpenTelemetry
      # Runs the block of `messages.each` in a span of its own for each record: a child of the span that produced the record, with
      # a link to that of the call. A record without a context is a child of the call's.
      #
      # One per call of `consume`, used by the thread that iterates.
      class MessageSpans
        # @param tracer [::OpenTelemetry::Trace::Tracer]
        # @param messages [Messages] of the call
        # @param call [::OpenTelemetry::Context] with the call's span
        def initialize(tracer, messages, call)
          @tracer = tracer
          @call = call
          topic = messages.batch.topic
          @name = "process #{topic}"
          @attributes = {**Names::PROCESSING, Names::DESTINATION => topic,
Names::PARTITION => messages.batch.partition.to_s}.freeze
          @links = Propagation.links([call]).freeze
        end

        # @see Messages#around
        # @param message [Message]
        # @return [Object] what the block returns
        def call(message, &code)
          origin = Propagation.read(message.raw_headers)
          parent = origin || @call
          span = start(message, parent, (@links if origin))
          Spans.within(span, Spans.context(span, parent), code) { |error| Spans.record(span, error) }
        end

        private

        def start(message, parent, links)
          Spans.start(@tracer, @name, kind: :consumer, with_parent: parent, links: links,
            attributes: {**@attributes, Names::OFFSET => message.offset})
        end
      end
    end
  end
end
