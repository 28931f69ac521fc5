# frozen_string_literal: true

require_relative "propagation"

module Penstock
  module Monitors
    module OpenTelemetry
      # The spans that produced the messages of one call, each once, as far as their headers name them. Used by one thread.
      class Origins
        # Most spans that another one links to, which is the SDK's own limit.
        MOST = 128

        # @return [Array<::OpenTelemetry::Context>]
        attr_reader :contexts

        # @param count [Integer] number of messages
        # @yieldparam index [Integer]
        # @yieldreturn [Hash, nil] headers of a message
        def initialize(count)
          @contexts = []
          @seen = {}
          index = -1
          add(yield(index)) while (index += 1) < count && @contexts.size < MOST
        end

        # @return [::OpenTelemetry::Context, nil]
        def first = @contexts.first

        # @return [Array<::OpenTelemetry::Trace::Link>]
        def links = Propagation.links(@contexts)

        private

        # Messages that were produced together follow each other with equal headers.
        def add(headers)
          return if headers.nil? || headers.empty? || headers == @last
          @last = headers
          context = Propagation.read(headers) or return
          span = Propagation.span_context(context)
          id = span.trace_id + span.span_id
          return if @seen[id]
          @seen[id] = true
          @contexts << context
        end
      end
    end
  end
end
