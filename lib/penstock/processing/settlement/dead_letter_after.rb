# frozen_string_literal: true

require_relative "../../errors"
require_relative "../effects/effects"
require_relative "../failure/effects"
require_relative "failed_unit"
require_relative "skip"

module Penstock
  module Processing
    module Settlement
      # Removes a record that failed often enough: sends it to the dead letters or to the next retry topic, or skips it. Only
      # that record; the other incomplete records of its unit run again.
      #
      # The worker has built the message. If it is missing, because the loop counts more attempts than the worker knew of or
      # because building it failed, the record is tried once more, which builds it.
      class DeadLetterAfter
        # @param policy [Failure::Policy]
        def initialize(policy)
          @policy = policy
        end

        def call(outcome, context)
          return unless outcome.unit.consume?

          blamed = FailedUnit.blamed_offset(outcome, @policy, context) or return
          decided = decide(outcome, blamed, context)
          return if decided == :retry
          return Skip.effects(outcome, blamed, @policy, context) if decided == :skip

          dead_letter(outcome, blamed, context)
        end

        private

        def decide(outcome, blamed, context)
          return @policy.without_retries if outcome.error.is_a?(QuarantinedError)

          results = results(outcome, blamed)
          @policy.after(context.lane.attempts.of(blamed) + 1, results&.answer, unreadable: results&.unreadable || false)
        end

        def results(outcome, blamed) = (outcome.callback_results if outcome.callback_results&.offset == blamed)

        def dead_letter(outcome, blamed, context)
          letter = results(outcome, blamed)&.letter or return

          [context.wait(outcome.unit, :dead_letter, nil), *FailedUnit.run_others_again(outcome, blamed, context),
            Effect::DeadLetter.new(request(letter, outcome.unit, context))]
        end

        def request(letter, unit, context)
          Failure::LetterRequest.new(letter: letter, unit: unit, complete: @policy.complete?, commit: @policy.commit_at_once?,
            in_transaction: @policy.in_transaction?)
        end
      end
    end
  end
end
