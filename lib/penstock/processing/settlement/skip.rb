# frozen_string_literal: true

require_relative "../effects/effects"
require_relative "failed_unit"

module Penstock
  module Processing
    module Settlement
      # Skips the record, leaving only an event, because the user's strategy returned `:skip` for it. If the record was marked
      # meanwhile, and the failure counts for another one, the strategy hasn't been called about that one.
      class Skip
        # @param policy [Failure::Policy]
        def initialize(policy)
          @policy = policy
        end

        def call(outcome, context)
          return unless outcome.unit.consume? && outcome.callback_results&.answer&.first == :skip

          blamed = FailedUnit.blamed_offset(outcome, @policy, context)
          return unless blamed && outcome.callback_results.offset == blamed
          self.class.effects(outcome, blamed, @policy, context)
        end

        # @return [Array<Effect>]
        def self.effects(outcome, blamed, policy, context)
          attempt = context.lane.attempts.of(blamed) + 1
          completed = policy.complete? ? [Effect::CompleteEach.new(FailedUnit.record(outcome.unit, blamed))] : []
          [*completed, *FailedUnit.run_others_again(outcome, blamed, context),
            FailedUnit.event("consumer.skipped", outcome, blamed, attempt, context)]
        end
      end
    end
  end
end
