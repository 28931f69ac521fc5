# frozen_string_literal: true

require_relative "violation"

module Penstock
  module Lint
    # Wraps a dead letter strategy and checks it: its result, and that it doesn't change the errors it gets. Behaves
    # like the strategy it wraps.
    class Strategy
      ACTIONS = %i[retry skip dispatch].freeze
      private_constant :ACTIONS

      # @param strategy [#call] takes the record's errors and the number of the attempt
      # @param topic [String, nil] the topic in `dead_letter_queue(topic:)`
      # @raise [Violation] it has no `call`
      def initialize(strategy, topic: nil)
        @strategy = strategy
        @topic = topic
        wrong("has no call", "give it one that takes the errors and the attempt") unless strategy.respond_to?(:call)
      end

      # @param errors [Consumer::ErrorsTracker]
      # @param attempt [Integer] 1 for the first
      # @return [Symbol, Array(Symbol, String)]
      # @raise [Violation]
      def call(errors, attempt)
        before = errors.size
        answer = @strategy.call(errors, attempt)
        wrong("changed the errors it got", "only read them") unless errors.size == before
        action, topic = answer
        known(answer, action, topic)
        return answer unless action == :dispatch && topic.nil? && @topic.nil?
        wrong("dispatches to no topic", "return [:dispatch, topic], or name one in dead_letter_queue")
      end

      private

      def known(answer, action, topic)
        wrong_answer(answer) unless ACTIONS.include?(action)
        wrong_answer(answer) unless topic.nil? || topic.is_a?(String) || topic.is_a?(Symbol)
        wrong_answer(answer) if answer.is_a?(Array) && (answer.size > 2 || (topic && action != :dispatch))
      end

      def wrong_answer(answer)
        wrong("returns #{answer.inspect[0, 60]}", "return :retry, :skip, :dispatch or [:dispatch, topic]")
      end

      def wrong(what, way_out) = raise(Violation, "the strategy #{what}: #{way_out}")
    end
  end
end
