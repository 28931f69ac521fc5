# frozen_string_literal: true

require_relative "names"
require_relative "origins"
require_relative "propagation"
require_relative "spans"

module Penstock
  module Monitors
    module OpenTelemetry
      # Wraps calls of producers in a span, and adds its context to the headers of messages that have none. A message that has one
      # keeps it: the span links to it, and continues its trace where no other span is current, as in a relay of the outbox.
      #
      # Messages that only wait to be sent (in the outbox, in a buffer) get the context that is current now, without a span.
      #
      # The span isn't made current during the call. Stateless. Any thread.
      class ProducerSpans
        # Calls that send nothing.
        WAITING = %w[messages.buffer outbox.enqueue].freeze
        # A dead letter, or a message to a retry topic, is prepared: {LetterSpans} notices when it was sent.
        LETTER = "message.ready"
        ONE_SYNC = "message.produce_sync"
        private_constant :LETTER, :ONE_SYNC, :WAITING

        # @param tracer [::OpenTelemetry::Trace::Tracer]
        def initialize(tracer)
          @tracer = tracer
        end

        # @return [Boolean] a producer needs only one of them
        def ==(other) = other.instance_of?(self.class)

        # @see Producer::Middleware#around
        def call(type, messages, &block)
          return yield(with_context(messages, ::OpenTelemetry::Context.current)) if WAITING.include?(type)
          return yield(with_context(messages, Spans.failed_call)) if type == LETTER
          return yield(messages) if messages.empty?
          produce(type, messages, &block)
        end

        private

        def with_context(messages, context)
          return messages unless context && Propagation.span_context(context).valid?
          add(messages, context)
        end

        def add(messages, context)
          headers = Propagation.headers(context).freeze
          headers.empty? ? messages : messages.map { |message| Propagation.add(message, headers) }
        end

        def produce(type, messages)
          origins = Origins.new(messages.size) { |index| headers_of(messages[index]) }
          parent = parent_of(messages, origins)
          span = start(messages, origins, parent) or return yield(messages)
          begin
            result = yield add(messages, Spans.context(span, parent))
            delivered(span, result) if type == ONE_SYNC
            result
          rescue Exception => error # rubocop:disable Lint/RescueException -- it is raised again
            Spans.record(span, error)
            raise
          ensure
            Spans.finish(span)
          end
        end

        # Messages haven't been checked.
        def headers_of(message)
          headers = message[:headers] if message.is_a?(Hash)
          headers if headers.is_a?(Hash)
        end

        def parent_of(messages, origins)
          current = ::OpenTelemetry::Context.current
          return current if messages.size > 1 || Propagation.span_context(current).valid?
          origins.first || current
        end

        def start(messages, origins, parent)
          topic = topic_of(messages)
          Spans.start(@tracer, topic ? "send #{topic}" : Names::SEND, kind: :producer, with_parent: parent,
            links: origins.links, attributes: attributes(messages, topic))
        end

        # @return [String, nil] nil for several topics
        def topic_of(messages)
          topic = topic_in(messages.first)
          topic if !topic.empty? && messages.all? { |message| topic_in(message) == topic }
        end

        def topic_in(message) = message.is_a?(Hash) ? message[:topic].to_s : ""

        def attributes(messages, topic)
          attributes = Names::SENDING.dup
          attributes[Names::DESTINATION] = topic if topic
          return attributes.merge!(Names::COUNT => messages.size) if messages.size > 1
          message = messages.first
          return attributes unless message.is_a?(Hash)
          partition = message[:partition]
          attributes[Names::PARTITION] = partition.to_s if partition.is_a?(Integer) && partition >= 0
          attributes[Names::TOMBSTONE] = true if message.key?(:payload) && message[:payload].nil?
          attributes
        end

        def delivered(span, report)
          return unless span.recording? && report.respond_to?(:offset)
          span.set_attribute(Names::PARTITION, report.partition.to_s)
          span.set_attribute(Names::OFFSET, report.offset)
        end
      end
    end
  end
end
