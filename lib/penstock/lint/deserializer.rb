# frozen_string_literal: true

require_relative "violation"

module Penstock
  module Lint
    # A deserializer that is watched: one answer for one record, the record's bytes untouched, nothing remembered between calls
    # (several threads call it at once), and records without a payload survived. Behaves as the deserializer does.
    class Deserializer
      # @param deserializer [#call] takes a message
      # @raise [Violation] when it has no `call`
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
        wrong(message, "keeps something between calls", "several threads call it at once: use local variables") if held != state
        return answer if answer == again || answer.instance_of?(again.class)
        wrong(message, "answers a #{answer.class}, then a #{again.class}", "depend on nothing but the message")
      end

      private

      def untouched(message, bytes)
        return if bytes == message.raw_payload
        wrong(message, "changed the payload's bytes", "work on a copy: `message.raw_payload.dup`")
      end

      # What it can't read it may refuse; a record without a payload is no such thing: compacted topics have them.
      def ask(message)
        @deserializer.call(message)
      rescue NoMethodError, TypeError => error
        raise unless message.raw_payload.nil?
        wrong(message, "fails without a payload (#{error.class})", "answer nil where raw_payload is nil")
      end

      # Which objects it holds, not what is in them: a cache that is filled once is seen by its size.
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
