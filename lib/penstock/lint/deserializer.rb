# frozen_string_literal: true

require_relative "violation"

module Penstock
  module Lint
    # Wraps a deserializer and checks it: one result per record, the record's bytes unchanged, no state between calls
    # (several threads call it at once), and no failure for records without a payload. Behaves like the deserializer it
    # wraps.
    class Deserializer
      # @param deserializer [#call] takes a message
      # @raise [Violation] it has no `call`
      def initialize(deserializer)
        @deserializer = deserializer
        wrong(nil, "has no call", "give it one that takes a message") unless deserializer.respond_to?(:call)
      end

      # @param message [Message]
      # @return [Object]
      # @raise [Violation]
      def call(message)
        bytes = message.raw_payload&.dup
        held = state
        answer, again = Array.new(2) { ask(message) }
        untouched(message, bytes)
        wrong(message, "keeps state between calls", "several threads call it at once: use local variables") if held != state
        return answer if answer == again || answer.instance_of?(again.class)
        wrong(message, "returns a #{answer.class}, then a #{again.class}", "depend on nothing but the message")
      end

      private

      def untouched(message, bytes)
        return if bytes == message.raw_payload
        wrong(message, "changed the payload's bytes", "work on a copy: `message.raw_payload.dup`")
      end

      # It may raise for an invalid payload; but compacted topics have records without a payload.
      def ask(message)
        @deserializer.call(message)
      rescue NoMethodError, TypeError => error
        raise unless message.raw_payload.nil?
        wrong(message, "fails without a payload (#{error.class})", "return nil if raw_payload is nil")
      end

      # The objects it holds, not their contents: a cache that is filled once shows in its size.
      def state
        @deserializer.instance_variables.map do |name|
          value = @deserializer.instance_variable_get(name)
          [name, value.object_id, (value.size if value.respond_to?(:size) && !value.is_a?(Numeric))]
        end
      end

      def wrong(message, what, way_out)
        raise Violation, "#{@deserializer.class} #{what}#{" for #{message.uid}" if message}: #{way_out}"
      end
    end
  end
end
