# frozen_string_literal: true

require "opentelemetry"

module Penstock
  module Monitors
    module OpenTelemetry
      # Reads and writes the context of spans in headers of messages, with the propagation that the SDK was set up with.
      # Stateless, but for what it knows about that propagation. Any thread.
      module Propagation
        ROOT = ::OpenTelemetry::Context::ROOT
        # The field that doesn't name a span.
        BAGGAGE = "baggage"
        private_constant :BAGGAGE

        # Reads headers of Kafka: binary text, and an Array for a name that occurs several times, of which the last counts.
        module Reader
          class << self
            # @param headers [Hash{String => String, Array, nil}]
            # @return [String, nil] nil for what isn't text
            def get(headers, name)
              value = headers[name]
              value = value.last if value.is_a?(Array)
              return unless value.is_a?(String)
              text = value.dup.force_encoding(Encoding::UTF_8)
              text if text.valid_encoding?
            end

            # @return [Array<String>]
            def keys(headers) = headers.keys
          end
        end

        @known = [nil, [].freeze].freeze

        class << self
          # @param headers [Hash, nil] of a record, or of a message that is about to be sent
          # @return [::OpenTelemetry::Context, nil] nil if they name no span. Headers that can't be read name none
          def read(headers)
            return if !headers.is_a?(Hash) || headers.empty?
            context = ::OpenTelemetry.propagation.extract(headers, context: ROOT, getter: Reader)
            context if span_context(context).valid?
          rescue => error
            handle(error) && nil
          end

          # @param context [::OpenTelemetry::Context]
          # @return [Hash{String => String}] headers that name its span
          def headers(context)
            {}.tap { |carrier| ::OpenTelemetry.propagation.inject(carrier, context: context) }
          rescue => error
            handle(error)
          end

          # @param message [Hash] for a producer, not checked yet
          # @param headers [Hash{String => String}] see {headers}
          # @return [Hash] a message with these headers, unless it has one, of any system. Its own headers stay as they
          #   are, and it isn't changed
          def add(message, headers)
            return message unless message.is_a?(Hash)
            own = message[:headers]
            return message.merge(headers: headers) if own.nil?
            return message if !own.is_a?(Hash) || named?(own)
            message.merge(headers: {**headers, **own})
          end

          # @param context [::OpenTelemetry::Context]
          # @return [::OpenTelemetry::Trace::SpanContext]
          def span_context(context) = ::OpenTelemetry::Trace.current_span(context).context

          # @param list [Enumerable<::OpenTelemetry::Context>]
          # @return [Array<::OpenTelemetry::Trace::Link>] to the spans of the contexts, each once
          def links(list) = list.map { |context| ::OpenTelemetry::Trace::Link.new(span_context(context)) }

          private

          # @return [Array<String>] headers that name a span
          def fields
            propagation = ::OpenTelemetry.propagation
            known, fields = @known
            return fields if known.equal?(propagation)
            fields = (propagation.fields - [BAGGAGE]).freeze
            @known = [propagation, fields].freeze
            fields
          end

          def named?(headers) = fields.any? { |name| headers.key?(name) }

          # @return [Hash] no headers
          def handle(error)
            ::OpenTelemetry.handle_error(exception: error, message: "penstock: the headers of a message")
            {}
          end
        end
      end
    end
  end
end
