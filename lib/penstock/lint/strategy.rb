# frozen_string_literal: true

require_relative "violation"

module Penstock
  module Lint
    # A dead letter strategy that is watched: what it answers, and that it leaves the errors it is shown alone. Behaves as the
    # strategy does.
    class Strategy
      ACTIONS = %i[retry skip dispatch].freeze
      private_constant :ACTIONS

      # @param strategy [#call] takes the record's errors and the number of the attempt
      # @param topic [String, nil] what `dead_letter_queue(topic:)` names
      # @raise [Violation] when it can't be called so
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
        wrong("changed the errors it was shown", "only read them") unless errors.size == before
        action, topic = answer
        known(answer, action, topic)
        return answer unless action == :dispatch && topic.nil? && @topic.nil?
        wrong("dispatches to no topic", "answer [:dispatch, topic], or name one in dead_letter_queue")
      end

      private

      def known(answer, action, topic)
        wrong_answer(answer) unless ACTIONS.include?(action)
        wrong_answer(answer) unless topic.nil? || topic.is_a?(String) || topic.is_a?(Symbol)
        wrong_answer(answer) if answer.is_a?(Array) && (answer.size > 2 || (topic && action != :dispatch))
      end

      def wrong_answer(answer)
        wrong("answers #{answer.inspect[0, 60]}", "answer :retry, :skip, :dispatch or [:dispatch, topic]")
      end

      def wrong(what, way_out) = raise(Violation, "the strategy #{what}: #{way_out}")
    end
  end
end
