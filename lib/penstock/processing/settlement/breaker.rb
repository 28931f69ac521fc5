# frozen_string_literal: true

require_relative "../../consumer/flow"
require_relative "../effects/effects"
require_relative "deciders"

module Penstock
  module Processing
    module Settlement
      # While many records fail alike none is retried to its end or given up: the topic waits, and the attempt doesn't count.
      class Breaker
        # @param breaker [Failure::Breaker] the topic's
        def initialize(breaker)
          @breaker = breaker
        end

        def call(outcome, context)
          return unless outcome.unit.consume?
          return succeeded(outcome) unless outcome.error
          return if outcome.flow.is_a?(Consumer::Flow::Seek)

          verdict = @breaker.failed(record(outcome, context), outcome.error, context.now)
          (verdict == :counted) ? nil : held(outcome, context, verdict)
        end

        private

        # The loop sees that it closed and lets the lanes go.
        def succeeded(_outcome)
          @breaker.succeeded
          nil
        end

        def record(outcome, context) = [context.lane.topic_name, context.lane.partition, outcome.blamed]

        def held(outcome, context, verdict)
          [Effect::Hold.new(:breaker, nil), *again(outcome, context), *FlowRequested.hold(outcome.flow, context),
            *(opened(outcome, context) if verdict == :opened)]
        end

        # A unit that was marked to its end before it failed leaves nothing: its key isn't told of, for it is forgotten already.
        def again(outcome, context)
          rest = context.rest(outcome.unit)
          isolating = rest.empty? ? [] : [context.isolate(outcome.unit, outcome.blamed)]
          [*isolating, context.requeue(outcome.unit, rest)]
        end

        def opened(outcome, context)
          [Effect::Emit.new("breaker.opened", {topic: context.lane.topic_name, partition: context.lane.partition,
            offset: outcome.blamed, error: outcome.error, count: @breaker.streak, timeout: @breaker.due - context.now})]
        end
      end
    end
  end
end
