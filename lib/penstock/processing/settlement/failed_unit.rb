# frozen_string_literal: true

require_relative "../../consumer/flow"
require_relative "../effects/effects"
require_relative "deciders"

module Penstock
  module Processing
    module Settlement
      # Computes, for deciders that dead-letter or skip a failed record, which record of the unit that is, and the effects on the
      # unit's other incomplete records, which run again.
      module FailedUnit
        class << self
          # Finds the record that may be dead-lettered or skipped. There is none if the user requested a seek, which has priority;
          # if it isn't known which of several records failed, because they run one by one first; or if the record was marked
          # meanwhile, and is complete.
          # @return [Integer, nil] the record's offset
          def blamed_offset(outcome, policy, context)
            return if outcome.error.nil? || outcome.blamed.nil? || outcome.flow.is_a?(Consumer::Flow::Seek)
            return unless outcome.located? || !policy.isolate?

            rest = context.rest(outcome.unit)
            offset = policy.blamed(outcome, rest)
            offset if rest.size.times.any? { |index| rest.offset_at(index) == offset }
          end

          # @param blamed [Integer] the record's offset
          # @return [Array<Effect>] for all incomplete records of the unit except that one
          def run_others_again(outcome, blamed, context)
            rest = context.rest(outcome.unit)
            others = rest.pick((0...rest.size).reject { |index| rest.offset_at(index) == blamed })
            isolated = others.empty? ? [] : [context.isolate(outcome.unit, blamed)]
            [*context.give_up(blamed), *isolated, context.requeue(outcome.unit, others),
              *FlowRequested.hold(outcome.flow, context, outcome.unit)]
          end

          # @return [Messages] of the one record
          def record(unit, offset)
            messages = unit.messages
            messages.pick([(0...messages.size).find { |index| messages.offset_at(index) == offset }])
          end

          # @return [Effect]
          def event(name, outcome, blamed, attempt, context)
            lane = context.lane
            Effect::Emit.new(name, {topic: lane.topic_name, partition: lane.partition, offset: blamed, attempt: attempt,
                                     error: outcome.error})
          end
        end
      end
    end
  end
end
