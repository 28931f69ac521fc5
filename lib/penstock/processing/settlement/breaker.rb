# frozen_string_literal: true

require_relative "../../consumer/flow"
require_relative "../effects/effects"
require_relative "../failure/breaker"
require_relative "deciders"

module Penstock
  module Processing
    module Settlement
      # Reports to the topic's breaker how a unit ended. While the breaker is open, or opens because of the unit, a failure
      # leads to no retry and no dead letter: the record waits, and its attempt doesn't count.
      class Breaker
        # @param breaker [Failure::Breaker, Runtime::SharedBreaker] the topic's
        # @param policy [Failure::Policy]
        def initialize(breaker, policy)
          @breaker = breaker
          @policy = policy
          @evidence = !policy.retry_topic?
        end

        def call(outcome, context)
          return unless outcome.unit.consume?
          return succeeded(outcome, context) unless outcome.error
          return if outcome.flow.is_a?(Consumer::Flow::Seek)

          partial_success(outcome, context)
          verdict = @breaker.failed(attempt(outcome, context), context.now)
          (verdict == :counted) ? nil : held(outcome, context)
        end

        private

        # The loop notices that the breaker closed and releases the lanes.
        # @return [nil]
        def succeeded(outcome, context)
          return if @breaker.ignores_success? && !@breaker.failing?
          unit = outcome.unit
          completed = completed(outcome, context)
          @breaker.unit_succeeded(unit) if completed.positive?
          @breaker.succeeded(fresh: fresh(unit, completed), completed: completed.positive?, probe: unit.probe, now: context.now)
          nil
        end

        # Records of a failed unit have succeeded if they were marked before the blamed one ran.
        def partial_success(outcome, context)
          return if @breaker.ignores_success?
          unit = outcome.unit
          before = unit.messages.offsets.index(outcome.blamed).to_i
          fresh = fresh(unit, [unit.messages.size - context.rest(unit).size, before].min)
          @breaker.succeeded(fresh: fresh, completed: true, probe: false, now: context.now) if fresh.positive?
        end

        # @param completed [Integer] records of the unit, from its first on
        # @return [Integer] number of them that are evidence: only the first one may be a retry
        def fresh(unit, completed)
          retried = (unit.attempt > 1) ? 1 : 0
          @evidence ? [completed - retried, 0].max : 0
        end

        # With manual offsets, and where user code requested another flow, only marked records have succeeded.
        def completed(outcome, context)
          size = outcome.unit.messages.size
          return size if context.automatic? && outcome.flow.nil?
          size - context.rest(outcome.unit).size
        end

        def attempt(outcome, context)
          lane, unit = context.lane, outcome.unit
          first = @evidence && first?(outcome, lane)
          number, unused = numbers(outcome) if @evidence && (first || unit.first_number)
          Failure::Breaker::Attempt.new(record: [lane.topic_name, lane.partition, outcome.blamed], error: outcome.error,
            number: number, unused: unused, sequence: unit.sequence, fresh: first && !number.nil?, probe: unit.probe)
        end

        # Whether the record has not failed before.
        def first?(outcome, lane)
          unit = outcome.unit
          lane.attempts.of(outcome.blamed).zero? && (unit.attempt == 1 || outcome.blamed != unit.messages.first_offset)
        end

        # A unit's records are numbered when it begins. In a failed unit, records before the blamed one have run; the blamed
        # one, unless it is the first, began only now; those after it have not run. If records of its unit have succeeded before
        # it, it isn't the next failure in a row of its sequence.
        # @return [Array(Integer, Array(Integer, Integer)), nil] when the blamed record began, nil where it isn't known which
        #   record failed; numbers without a record
        def numbers(outcome)
          unit = outcome.unit
          size = unit.messages.size
          begun = unit.first_number || @breaker.number_records(size, unit)
          return [begun] if size == 1
          unless unit.messages.cursor
            return @policy.isolate? ? [nil, [begun, size]] : [begun, [begun + 1, size - 1]]
          end
          index = unit.messages.offsets.index(outcome.blamed) || 0
          return [begun, [begun + 1, size - 1]] if index.zero?
          @breaker.unit_succeeded(unit)
          [@breaker.number_records(1, unit), [begun + index, size - index]]
        end

        def held(outcome, context)
          context.lane.probing.note_failure(outcome.blamed)
          [Effect::Hold.new(:breaker, nil), *requeue(outcome, context), *FlowRequested.hold(outcome.flow, context, outcome.unit)]
        end

        # If all records of the unit were marked before it failed, nothing runs again, and its key isn't isolated: the lane has
        # forgotten it already.
        def requeue(outcome, context)
          rest = context.rest(outcome.unit)
          isolating = rest.empty? ? [] : [context.isolate(outcome.unit, outcome.blamed)]
          [*isolating, context.requeue(outcome.unit, rest)]
        end
      end
    end
  end
end
